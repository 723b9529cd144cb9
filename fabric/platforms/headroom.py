"""Headroom: what a lossless priority group must still take in after it has said "pause".

Lookups are by exact speed and length, as SONiC's buffer manager does them (sonic-swss, cfgmgr/buffermgr.cpp): a
missing row means no lossless group and only a line in syslog. The two models recompute what the vendors' tables
hold, so that a table typed by hand can be judged. All sizes in bytes, speeds in Mb/s, lengths in metres.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fabric.errors import PlatformError
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.plan import HeadroomRow

# Tomahawk 5, sonic-buildimage Dell-Z9864f-O64/pg_profile_lookup.ini: xoff at 5 m less the cable's share. 40 and
# 300 m follow from it within 0.3 % at 100G and up (facts: ai-fabric 3.4).
_TH5_CONSTANT = {100_000: 145_176, 200_000: 225_581, 400_000: 385_631, 800_000: 714_370}
# A 254-byte cell holds at worst one minimum frame, 84 bytes on the wire; 2 x 5 ns/m of cable.
_TH5_BYTES_PER_METRE_AND_GBPS = 1.25 * 254 / 84
_TH5_TOLERANCE = 0.003

# Spectrum-4: sonic-swss cfgmgr/buffer_headroom_mellanox.lua at e6b0c5b; constants of the ASIC from sonic-buildimage
# platform/mellanox/asic_table.j2.
_PAUSE_QUANTA = {
    10_000: 67,
    25_000: 80,
    40_000: 118,
    50_000: 147,
    100_000: 394,
    200_000: 453,
    400_000: 905,
    800_000: 905,
}
_SPC_CELL = 192
_SPC_PIPELINE = 19 * 1024
_SPC_MAC_PHY = 0.8 * 1024
_SPC_TILE_BYTES_PER_GBPS = 15
_LIGHT_IN_FIBRE = 198_000_000
_MINIMUM_FRAME = 64
_SPC_COMPENSATION = 2 * 1024

_ZERO = "a cable of 0 m means `no lossless class` to SONiC; give the real length of a lossless port"


@dataclass(frozen=True, slots=True)
class Headroom:
    """`xoff` is what arrives after the pause; `size` the whole profile (equal to `xon` with a shared headroom pool)."""

    size: int
    xon: int
    xoff: int


def exact_row(rows: Iterable[HeadroomRow], speed_mbps: int, cable_m: int) -> HeadroomRow:
    """The row SONiC would find. PlatformError lists the lengths there are (field case F086); 0 m is refused, because
    it tells SONiC to make no lossless group (F088)."""
    if cable_m <= 0:
        raise PlatformError(
            "a cable of 0 m means `no lossless class` to SONiC; give the real length of a lossless port"
        )
    lengths = row_lengths(rows, speed_mbps)
    for row in rows:
        if (row.speed_mbps, row.cable_m) == (speed_mbps, cable_m):
            return row
    raise PlatformError(_no_row(speed_mbps, cable_m, lengths))


def covering_row(rows: Iterable[HeadroomRow], speed_mbps: int, cable_m: int) -> HeadroomRow:
    """The smallest row of this speed that is not shorter than the cable. PlatformError when there is none."""
    if cable_m <= 0:
        raise PlatformError(
            "a cable of 0 m means `no lossless class` to SONiC; give the real length of a lossless port"
        )
    rows = tuple(rows)
    fitting = [row for row in rows if row.speed_mbps == speed_mbps and row.cable_m >= cable_m]
    if not fitting:
        raise PlatformError(_no_row(speed_mbps, cable_m, row_lengths(rows, speed_mbps)))
    return min(fitting, key=lambda row: row.cable_m)


def row_lengths(rows: Iterable[HeadroomRow], speed_mbps: int) -> tuple[int, ...]:
    """Cable lengths the table has for a speed, shortest first."""
    return tuple(sorted({row.cable_m for row in rows if row.speed_mbps == speed_mbps}))


def tomahawk5_xoff(speed_mbps: int, cable_m: int) -> int:
    """xoff of a Tomahawk 5 lossless group: constant of the speed plus length x rate x 1.25 x 254/84.

    PlatformError below 100G, where the vendor's table is flat and no constant is known.
    """
    if speed_mbps not in _TH5_CONSTANT:
        raise PlatformError(f"no Tomahawk 5 headroom constant for {speed_mbps // 1000}G; known: 100G, 200G, 400G, 800G")
    return round(_TH5_CONSTANT[speed_mbps] + cable_m * speed_mbps / 1000 * _TH5_BYTES_PER_METRE_AND_GBPS)


def spectrum4_headroom(
    speed_mbps: int,
    cable_m: int,
    *,
    port_mtu: int = 9216,
    lossless_mtu: int = 1024,
    small_packet_percent: int = 100,
    eight_lanes: bool | None = None,
    shared_pool: bool = False,
) -> Headroom:
    """Headroom as SONiC's NVIDIA script computes it in the dynamic model, without gearbox.

    The defaults are those behind the ACS-SN5600 table. `eight_lanes` None means: an 800G port has eight.
    PlatformError for a speed that has no pause quanta.
    """
    if speed_mbps not in _PAUSE_QUANTA:
        raise PlatformError(f"no pause quanta for {speed_mbps} Mb/s")
    if eight_lanes is None:
        eight_lanes = speed_mbps >= 800_000
    worst = math.ceil(_SPC_CELL / _MINIMUM_FRAME)
    mean_frame = (small_packet_percent * _MINIMUM_FRAME + (100 - small_packet_percent) * lossless_mtu) / 100
    small_bytes = 100 * _MINIMUM_FRAME / mean_frame
    occupancy = (100 - small_bytes + small_bytes * worst) / 100
    on_cable = 2 * cable_m * speed_mbps * 1e9 / _LIGHT_IN_FIBRE / 8000
    peer = _PAUSE_QUANTA[speed_mbps] * 64
    tile = speed_mbps / 1000 * _SPC_TILE_BYTES_PER_GBPS
    propagation = port_mtu + on_cable + _SPC_MAC_PHY + peer + tile
    xoff = _kib(lossless_mtu + propagation * occupancy)
    if not shared_pool and small_packet_percent != 100:
        # The script adds this while the reduced share leaves the value well below the worst case.
        xoff += _SPC_COMPENSATION * (xoff + _SPC_COMPENSATION < _kib(lossless_mtu + propagation * worst))
    xon = _kib(_SPC_PIPELINE * 2 if eight_lanes else _SPC_PIPELINE)
    size = xon if shared_pool else _kib(xoff + xon + (port_mtu if eight_lanes else 0))
    return Headroom(size=size, xon=xon, xoff=xoff)


def model_xoff(asic: str, speed_mbps: int, cable_m: int) -> int | None:
    """xoff our own model asks for, or None for an ASIC family or speed we have no model of."""
    if asic == "th5" and speed_mbps in _TH5_CONSTANT:
        return tomahawk5_xoff(speed_mbps, cable_m)
    if asic == "spc4" and speed_mbps >= 100_000 and speed_mbps in _PAUSE_QUANTA:
        return spectrum4_headroom(speed_mbps, cable_m).xoff
    return None


def judge_rows(platform: str, rows: Sequence[HeadroomRow], asic: str = "") -> list[Finding]:
    """Sanity of a lookup table (rule QOS-05; field case F091): warnings for hand-made looks, a failure where a longer
    cable needs less, and a warning where a vendor's row is below our model by more than its own error.

    Where a table was made for another MTU or small-packet share than the model's defaults, `asic` "" judges it by
    its shape only.
    """
    findings = [*_growth(platform, rows), *_odd_offsets(platform, rows)]
    for row in rows:
        wanted = model_xoff(asic, row.speed_mbps, row.cable_m)
        if wanted is None or row.xoff >= wanted * (1 - _TH5_TOLERANCE):
            continue
        findings.append(
            Finding(
                code="QOS-05",
                status=Status.WARN,
                severity=Severity.WARN,
                confidence=Confidence.LIKELY,
                device=platform,
                expected=f"xoff of at least {wanted} bytes for {_what(row)} ({asic} model)",
                observed=f"{row.xoff} bytes in the vendor's table",
                remedy="ask the vendor which cable and MTU the row is for before a cable of this length is lossless",
            )
        )
    return findings


def judge_profile_name(speed_mbps: int, cable_m: int, profile: str) -> Finding | None:
    """SONiC names a lossless profile after speed and cable: a port whose profile says otherwise kept an old one
    (field case F089). None when both agree."""
    wanted = f"pg_lossless_{speed_mbps}_{cable_m}m_profile"
    if profile == wanted:
        return None
    return Finding(
        code="QOS-05",
        status=Status.FAIL,
        severity=Severity.BLOCK,
        confidence=Confidence.CERTAIN,
        expected=f"{wanted} (speed {speed_mbps}, CABLE_LENGTH {cable_m}m)",
        observed=profile,
        remedy="set the port admin down and up so that SONiC's buffer manager makes the profile anew, and read it back",
    )


def _growth(platform: str, rows: Sequence[HeadroomRow]) -> list[Finding]:
    findings = []
    for speed in sorted({row.speed_mbps for row in rows}):
        ordered = sorted((row for row in rows if row.speed_mbps == speed), key=lambda row: row.cable_m)
        flat: list[HeadroomRow] = []
        for short, long in pairwise(ordered):
            if long.xoff < short.xoff:
                findings.append(
                    Finding(
                        code="QOS-05",
                        status=Status.FAIL,
                        severity=Severity.BLOCK,
                        confidence=Confidence.CERTAIN,
                        device=platform,
                        expected=f"xoff of {_what(long)} not below that of {short.cable_m}m ({short.xoff} bytes)",
                        observed=f"{long.xoff} bytes",
                        remedy="a longer cable never needs less: correct the row before this table is used",
                    )
                )
            elif long.xoff == short.xoff:
                flat = [*(flat or [short]), long]
        if flat:
            findings.append(
                Finding(
                    code="QOS-05",
                    status=Status.WARN,
                    severity=Severity.WARN,
                    confidence=Confidence.LIKELY,
                    device=platform,
                    expected=f"xoff that grows with length at {speed // 1000}G",
                    observed=f"{flat[0].xoff} bytes at {', '.join(f'{row.cable_m}m' for row in flat)} alike",
                    remedy="a flat value is right only for its longest cable; ask the vendor whether it was meant",
                )
            )
    return findings


def _odd_offsets(platform: str, rows: Sequence[HeadroomRow]) -> list[Finding]:
    offsets = [row.xon_offset for row in rows if row.xon_offset is not None]
    usual = max(set(offsets), key=offsets.count, default=None)
    if usual is None or offsets.count(usual) * 2 <= len(offsets):
        return []
    return [
        Finding(
            code="QOS-05",
            status=Status.WARN,
            severity=Severity.WARN,
            confidence=Confidence.LIKELY,
            device=platform,
            expected=f"xon_offset {usual}, as {offsets.count(usual)} of {len(offsets)} rows have it",
            observed=f"{row.xon_offset} for {_what(row)}",
            remedy="looks like a typing error of a hand-made table; compare with the vendor's file",
        )
        for row in rows
        if row.xon_offset not in (None, usual)
    ]


def _no_row(speed_mbps: int, cable_m: int, lengths: tuple[int, ...]) -> str:
    speed = f"{speed_mbps // 1000}G"
    if not lengths:
        return f"no headroom row for {speed} at all: a port of this speed cannot be lossless on this platform"
    listed = ", ".join(f"{length}m" for length in lengths)
    longer = [length for length in lengths if length >= cable_m]
    offer = f"; {longer[0]}m would cover it" if longer else "; none covers it"
    return f"no headroom row for {speed} and {cable_m}m; the table has {listed}{offer}"


def _what(row: HeadroomRow) -> str:
    return f"{row.speed_mbps // 1000}G {row.cable_m}m"


def _kib(value: float) -> int:
    return math.ceil(value / 1024) * 1024
