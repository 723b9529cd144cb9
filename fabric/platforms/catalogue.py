"""The catalogue of switch models: one JSON file a box, in our own format, found by HwSKU key.

Format `railfab.platform/1`. Cages stand in groups: `first` port number and `step`, `index` of the first cage,
`width` in lanes, `lanes` the first ASIC lane of each cage (or the whole list where lanes are not consecutive), and
`modes`: breakout string verbatim -> alias pattern, with `{i}` the index plus `alias_offset`, `{n}` the child from 1,
`{a}` the child as a letter (or explicit aliases, one list a cage). `hwskus` maps a key to what differs by HwSKU:
`boot` as runs of [mode, cages] (null: the cage is not there), limits, headroom rows and buffer sets (a set given as
the name of another is the same); `aliases` are further keys of a HwSKU. Each file names
its source repository, commit, licence and paths. Facts only; no vendor file is copied.

Further folders are searched before ours: those of `RAILFAB_PLATFORMS` (separated as in PATH).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from fabric.errors import PlatformError
from fabric.platforms.model import Cage, Platform, Source, make_platform
from fabric.platforms.modes import parse_mode
from fabric.values.plan import BufferPlan, BufferPool, BufferProfile, HeadroomRow

SCHEMA = "railfab.platform/1"
_OWN = Path(__file__).resolve().parent / "catalogue"
# A cage of one lane and less than 100G is a service port: the 10/25G ports beside the fabric cages of every
# 64-cage box in the catalogue.
_SERVICE_BELOW_MBPS = 100_000


def available() -> list[str]:
    """Keys of every HwSKU in the catalogue, sorted."""
    return sorted({key for document in _documents(_folders()) for key in document["hwskus"]})


def load(key: str) -> Platform:
    """The platform of one HwSKU. PlatformError lists the keys when there is no such one."""
    return _load(key, _folders())


@cache
def _load(key: str, folders: tuple[Path, ...]) -> Platform:
    for document in _documents(folders):
        if key in document["hwskus"]:
            return platform_of(document, key)
        if key in document.get("aliases", {}):
            return _load(document["aliases"][key], folders)
    raise PlatformError(
        f"no platform {key!r} in the catalogue; there are: {', '.join(available())}; "
        "`railfab platform import DIR` makes one from SONiC's own files"
    )


def platform_of(document: Mapping[str, Any], key: str) -> Platform:
    """The platform of one HwSKU of a catalogue document. PlatformError names what is missing or contradictory."""
    try:
        return _platform(document, key)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        what = f"field {error} is missing" if isinstance(error, KeyError) else str(error)
        raise PlatformError(f"catalogue entry {key}: {what}") from None


def _platform(document: Mapping[str, Any], key: str) -> Platform:
    entry = document["hwskus"][key]
    fixed = bool(entry.get("fixed", False))
    boot = _runs(entry["boot"])
    fabric: list[Cage] = []
    service: list[Cage] = []
    for (port, index, lanes, modes), mode in zip(_cages(document["cages"]), boot, strict=True):
        if mode is None:
            continue
        if mode not in modes:
            raise ValueError(f"{port} boots in {mode!r}, which is none of its modes: {', '.join(modes)}")
        cage = Cage(port, index, lanes, {mode: modes[mode]} if fixed else modes, mode)
        fastest = max(part.speed_mbps for name in modes for part in parse_mode(name))
        (service if len(lanes) == 1 and fastest < _SERVICE_BELOW_MBPS else fabric).append(cage)
    source = document["source"]
    rows = tuple(HeadroomRow(*row) for row in entry.get("headroom", ()))
    return make_platform(
        Platform(
            key=key,
            vendor=document["vendor"],
            model=document["model"],
            onie_platform=document["onie_platform"],
            hwsku=entry["hwsku"],
            asic=document["asic"],
            cages=tuple(fabric),
            service_cages=tuple(service),
            source=Source(source["repository"], source["commit"], source["licence"], tuple(source["paths"])),
            ecmp_limit=entry.get("ecmp_limit"),
            fixed=fixed,
            hosts_end=_hosts_end(fabric) if fixed else None,
            breakout_cfg=bool(entry.get("breakout_cfg", True)),
            cell_bytes=document.get("cell_bytes"),
            other_aliases=_other_aliases(entry.get("other_aliases"), fabric, service),
            buffer_sets=_buffer_sets(document, key, rows),
            headroom=rows,
            notes=tuple(document.get("notes", ())) + tuple(entry.get("notes", ())),
        )
    )


def _cages(
    groups: list[dict[str, Any]],
) -> Iterator[tuple[str, int, tuple[int, ...], dict[str, tuple[str, ...]]]]:
    for group in groups:
        width = group["width"]
        for at, lane in enumerate(group["lanes"]):
            lanes = tuple(lane) if isinstance(lane, list) else tuple(range(lane, lane + width))
            index = group["index"] + at
            number = index + group.get("alias_offset", 0)
            modes = {
                mode: (tuple(pattern[at]) if isinstance(pattern, list) else child_aliases(mode, pattern, number))
                for mode, pattern in group["modes"].items()
            }
            yield f"Ethernet{group['first'] + at * group['step']}", index, lanes, modes


def child_aliases(mode: str, pattern: str, number: int) -> tuple[str, ...]:
    """Aliases that a pattern of the catalogue gives the children of one cage in one mode."""
    count = sum(part.count for part in parse_mode(mode))
    return tuple(
        pattern.replace("{i}", str(number)).replace("{n}", str(n + 1)).replace("{a}", chr(ord("a") + n))
        for n in range(count)
    )


def _runs(boot: list[list[Any]]) -> list[str | None]:
    return [mode for mode, count in boot for _ in range(count)]


def _hosts_end(cages: list[Cage]) -> str | None:
    """Which end of a mixed table is the slower one: hosts. None when it has more than two runs, or one speed."""
    speeds = [min(part.speed_mbps for part in parse_mode(cage.default_mode)) for cage in cages]
    runs = [speed for at, speed in enumerate(speeds) if at == 0 or speed != speeds[at - 1]]
    if len(runs) != 2:
        return None
    return "last" if runs[1] < runs[0] else "first"


def _other_aliases(spec: Any, fabric: list[Cage], service: list[Cage]) -> dict[str, tuple[str, ...]]:
    if not spec:
        return {}
    if "pattern" in spec:
        pattern, offset = spec["pattern"], spec.get("alias_offset", 0)
        return {cage.first_port: (pattern.replace("{i}", str(cage.index + offset)),) for cage in (*fabric, *service)}
    return {port: tuple(aliases) for port, aliases in spec["ports"].items()}


def _buffer_sets(document: Mapping[str, Any], key: str, rows: tuple[HeadroomRow, ...]) -> dict[str, BufferPlan]:
    sets = document["hwskus"][key].get("buffers", {})
    return {
        name: _buffer_plan(document, key, name, sets[spec] if isinstance(spec, str) else spec, rows)
        for name, spec in sets.items()
    }


def _buffer_plan(
    document: Mapping[str, Any], key: str, name: str, spec: Mapping[str, Any], rows: tuple[HeadroomRow, ...]
) -> BufferPlan:
    source = document["source"]
    return BufferPlan(
        platform=key,
        model=spec["model"],
        pools={pool: BufferPool(**fields) for pool, fields in spec["pools"].items()},
        profiles={profile: BufferProfile(**fields) for profile, fields in spec["profiles"].items()},
        rows=rows,
        source=f"{source['repository']}@{source['commit'][:12]} {document['hwskus'][key]['hwsku']} ({name})",
        ingress_profile_list=tuple(spec.get("ingress_profile_list", ())),
        egress_profile_list=tuple(spec.get("egress_profile_list", ())),
        asic=document["asic"],
        cell_bytes=document.get("cell_bytes"),
    )


def _folders() -> tuple[Path, ...]:
    extra = os.environ.get("RAILFAB_PLATFORMS", "")
    return (*(Path(folder) for folder in extra.split(os.pathsep) if folder), _OWN)


@cache
def _documents(folders: tuple[Path, ...]) -> tuple[dict[str, Any], ...]:
    documents: list[dict[str, Any]] = []
    for folder in folders:
        if not folder.is_dir():
            raise PlatformError(f"RAILFAB_PLATFORMS names {folder}, which is no folder")
        documents.extend(read_document(path) for path in sorted(folder.glob("*.json")))
    return tuple(documents)


def read_document(path: Path) -> dict[str, Any]:
    """One catalogue file as plain values. PlatformError when it is not one."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise PlatformError(f"{path.name}: cannot be read as a catalogue file: {error}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise PlatformError(f"{path.name}: not a catalogue file ({SCHEMA}); `railfab platform import` writes one")
    if not isinstance(document.get("hwskus"), dict):
        raise PlatformError(f"{path.name}: no hwskus")
    return document
