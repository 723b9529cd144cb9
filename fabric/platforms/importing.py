"""Make a catalogue document from a directory of SONiC's own files.

The directory is laid out as on a switch (/usr/share/sonic/device/<platform>): `platform.json` and one folder a
HwSKU with `port_config.ini`, `hwsku.json`, `pg_profile_lookup.ini`, `sai.profile`, and, where an operator put it
there, `buffers.json` (or `config_db.json`) with BUFFER_POOL and BUFFER_PROFILE. A HwSKU folder alone works too.
As SONiC does, platform.json with hwsku.json wins over port_config.ini; a spelling of an alias that only
port_config.ini has is kept beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.errors import PlatformError
from fabric.files import write_whole
from fabric.platforms.catalogue import SCHEMA, child_aliases, platform_of
from fabric.platforms.model import Cage, expand, port_number
from fabric.platforms.sonic_files import (
    CageRow,
    PortRow,
    read_headroom_rows,
    read_hwsku_json,
    read_json_object,
    read_platform_json,
    read_port_config,
)
from fabric.values.plan import HeadroomRow

# Cell sizes in bytes, by ASIC family: sonic-mgmt tests/qos/files/qos_params.th5.yaml; sonic-buildimage
# platform/mellanox/asic_table.j2.
CELL_BYTES = {"th5": 254, "spc4": 192, "spc5": 192, "spc6": 256}
_ONE_FILE = "each with a configuration of its own, which railfab does not write; leave it out of the fabric"
_ECMP = re.compile(r"^\s*SAI_NUM_ECMP_MEMBERS\s*=\s*(\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Identity:
    """What SONiC's files do not say themselves. `asic` is a family (`th5`, `spc4`); `onie_platform` the ONIE string."""

    vendor: str
    model: str
    onie_platform: str
    asic: str
    repository: str = "local"
    commit: str = "unknown"
    licence: str = "unknown"
    path_prefix: str = ""


def known_asic(folder: Path) -> str | None:
    """The ASIC family where a SAI configuration file of the HwSKU names it (`th5-....bcm`), else None."""
    found = {
        family
        for path in folder.rglob("*")
        if path.is_file()
        for family in CELL_BYTES
        if re.match(rf"{family}(?![0-9a-z])", path.name)
    }
    return found.pop() if len(found) == 1 else None


def import_directory(folder: Path, identity: Identity, keys: Mapping[str, str] | None = None) -> dict[str, Any]:
    """A catalogue document of every HwSKU in `folder`. `keys` renames HwSKUs (folder name -> catalogue key).

    PlatformError names each file that cannot be used and why. Every HwSKU is loaded once before it is returned.
    """
    if not folder.is_dir():
        raise PlatformError(f"{folder} is no directory; give one laid out like /usr/share/sonic/device/<platform>")
    _one_asic(folder)
    top, skus = _layout(folder)
    table = read_platform_json(top) if top else ()
    groups: dict[str, list[_Cage]] = {}
    for sku in skus:
        groups[sku.name] = _cages_of(sku, table)
    cages = _union(table, groups)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "vendor": identity.vendor,
        "model": identity.model,
        "onie_platform": identity.onie_platform,
        "asic": identity.asic,
        "cell_bytes": CELL_BYTES.get(identity.asic),
        "source": {
            "repository": identity.repository,
            "commit": identity.commit,
            "licence": identity.licence,
            "paths": _paths(identity.path_prefix, top, skus),
        },
        "notes": [],
        "cages": compress(cages),
        "hwskus": {},
    }
    for sku in skus:
        key = (keys or {}).get(sku.name, sku.name.lower())
        document["hwskus"][key] = _sku_entry(sku, groups[sku.name], cages)
        platform_of(document, key)
    return document


@dataclass(frozen=True, slots=True)
class _Cage:
    row: CageRow
    mode: str | None


def _one_asic(folder: Path) -> None:
    """Refuse a box of several ASICs: SONiC wants a config_db.json for each there, and railfab writes one a switch."""
    for place in (folder, folder.parent):
        conf = place / "asic.conf"
        if not conf.is_file():
            continue
        found = re.search(r"^\s*NUM_ASIC\s*=\s*(\S+)", conf.read_text(errors="replace"), re.MULTILINE)
        if found and found[1] != "1":
            raise PlatformError(f"{conf}: a box of {found[1]} ASICs, {_ONE_FILE}")
    numbered = sorted(sub.name for sub in folder.iterdir() if sub.is_dir() and sub.name.isdigit())
    if numbered:
        raise PlatformError(f"{folder}: holds a folder for each ASIC ({', '.join(numbered)}), {_ONE_FILE}")


def _layout(folder: Path) -> tuple[Path | None, list[Path]]:
    skus = [
        sub
        for sub in sorted(folder.iterdir())
        if sub.is_dir() and ((sub / "port_config.ini").exists() or (sub / "hwsku.json").exists())
    ]
    if (folder / "port_config.ini").exists() or (folder / "hwsku.json").exists():
        skus = [folder]
    tops = [place / "platform.json" for place in (folder, folder.parent) if (place / "platform.json").exists()]
    if not skus:
        raise PlatformError(f"{folder}: neither port_config.ini nor hwsku.json here or one folder below")
    return (tops[0] if tops else None), skus


def _cages_of(sku: Path, table: Sequence[CageRow]) -> list[_Cage]:
    hwsku, ports = sku / "hwsku.json", sku / "port_config.ini"
    if table and hwsku.exists():
        modes = read_hwsku_json(hwsku)
        members = [_Cage(row, modes.get(row.name)) for row in table]
        # NVIDIA lists breakout children too; SONiC takes only further attributes from those.
        known = {port for member in members if member.mode for port in _made(sku, member)}
        for name in modes:
            if name not in known:
                raise PlatformError(
                    f"{sku.name}/hwsku.json: {name} is neither a cage of platform.json nor a child of one"
                )
        return members
    if not ports.exists():
        raise PlatformError(f"{sku.name}: hwsku.json needs the platform.json of the same box, which is not here")
    rows = read_port_config(ports)
    if any(row.speed_mbps is None for row in rows):
        raise PlatformError(
            f"{sku.name}/port_config.ini has no speed column, and there is no platform.json with hwsku.json beside it: "
            "the speed of its ports cannot be known"
        )
    if any(row.index is None for row in rows):
        raise PlatformError(f"{sku.name}/port_config.ini has no index column: its cages cannot be known")
    return _from_port_table(sku, rows, table)


def _made(sku: Path, member: _Cage) -> set[str]:
    row, mode = member.row, member.mode or ""
    if mode not in row.modes:
        raise PlatformError(
            f"{sku.name}/hwsku.json: {row.name} boots in {mode!r}; modes that exist: {', '.join(row.modes)}"
        )
    cage = Cage(row.name, row.index, row.lanes, row.modes, mode)
    return {port.name for port in expand(sku.name, cage, mode, row.modes[mode])}


def _from_port_table(sku: Path, rows: Sequence[PortRow], table: Sequence[CageRow]) -> list[_Cage]:
    by_index: dict[int, list[PortRow]] = {}
    for row in rows:
        by_index.setdefault(row.index or 0, []).append(row)
    known = {row.name: row for row in table}
    cages: list[_Cage] = []
    for index, children in by_index.items():
        children.sort(key=lambda row: port_number(row.name))
        made = _made_cage(sku, index, children)
        listed = known.get(made.name)
        mode = _same_mode(listed, children) if listed else None
        if listed is not None and mode is not None:
            cages.append(_Cage(listed, mode))
        else:
            cages.append(_Cage(made, next(iter(made.modes))))
    if table:
        present = {cage.row.name for cage in cages}
        cages.extend(_Cage(row, None) for row in table if row.name not in present)
    return sorted(cages, key=lambda cage: port_number(cage.row.name))


def _made_cage(sku: Path, index: int, children: list[PortRow]) -> CageRow:
    """A cage as a port table alone shows it. Its one mode is a label: without platform.json SONiC cannot change it."""
    lanes = tuple(lane for child in children for lane in child.lanes)
    base = port_number(children[0].name)
    parts: list[str] = []
    run: list[PortRow] = []
    offset = 0
    for child in children:
        if port_number(child.name) != base + offset:
            raise PlatformError(
                f"{sku.name}/port_config.ini:{child.line}: {child.name} of cage {index} starts at lane {offset} of "
                f"the cage, so SONiC would name it Ethernet{base + offset}"
            )
        offset += len(child.lanes)
        if run and (run[0].speed_mbps, len(run[0].lanes)) != (child.speed_mbps, len(child.lanes)):
            parts.append(_label(run))
            run = []
        run.append(child)
    parts.append(_label(run))
    mode = parts[0].split("(")[0] if len(parts) == 1 else "+".join(parts)
    return CageRow(children[0].name, index, lanes, {mode: tuple(child.alias for child in children)})


def _label(run: list[PortRow]) -> str:
    speed = run[0].speed_mbps or 0
    text = f"{speed // 1000}G" if speed % 1000 == 0 else str(speed)
    return f"{len(run)}x{text}({sum(len(child.lanes) for child in run)})"


def _same_mode(row: CageRow, children: list[PortRow]) -> str | None:
    """The mode of platform.json that makes exactly these ports."""
    for mode, aliases in row.modes.items():
        made = expand(row.name, Cage(row.name, row.index, row.lanes, row.modes, mode), mode, aliases)
        if [(p.name, p.lanes, p.speed_mbps) for p in made] == [(c.name, c.lanes, c.speed_mbps) for c in children]:
            return mode
    return None


def _union(table: Sequence[CageRow], groups: Mapping[str, list[_Cage]]) -> list[CageRow]:
    """Cages of the box: platform.json's, else those of the port tables, which must then agree on lanes."""
    cages: dict[str, CageRow] = {row.name: row for row in table}
    for sku, members in groups.items():
        for member in members:
            known = cages.setdefault(member.row.name, member.row)
            if (known.index, known.lanes) != (member.row.index, member.row.lanes):
                raise PlatformError(f"{sku}: {known.name} has other lanes or another index than in platform.json")
            new = {mode: aliases for mode, aliases in member.row.modes.items() if mode not in known.modes}
            if new:
                cages[known.name] = CageRow(known.name, known.index, known.lanes, {**known.modes, **new})
    return sorted(cages.values(), key=lambda row: port_number(row.name))


def _sku_entry(sku: Path, members: list[_Cage], cages: list[CageRow]) -> dict[str, Any]:
    mode_of = {member.row.name: member.mode for member in members}
    boot: list[list[Any]] = []
    for row in cages:
        mode = mode_of.get(row.name)
        if boot and boot[-1][0] == mode:
            boot[-1][1] += 1
        else:
            boot.append([mode, 1])
    breakout_cfg = (sku / "hwsku.json").exists()
    fabric_modes = {mode for row in cages if (mode := mode_of.get(row.name)) and len(row.lanes) > 1}
    entry: dict[str, Any] = {
        "hwsku": sku.name,
        "boot": boot,
        "ecmp_limit": _ecmp_limit(sku),
        "fixed": len(fabric_modes) > 1 or not breakout_cfg,
        "breakout_cfg": breakout_cfg,
    }
    others = _spellings(sku, cages, mode_of)
    if others:
        entry["other_aliases"] = others
    rows = read_headroom_rows(sku / "pg_profile_lookup.ini") if (sku / "pg_profile_lookup.ini").exists() else ()
    if rows:
        entry["headroom"] = [_plain_row(row) for row in rows]
    buffers = _buffer_tables(sku)
    if buffers and rows:
        entry["buffers"] = {"imported": buffers}
    return entry


def _plain_row(row: HeadroomRow) -> list[int | None]:
    return [row.speed_mbps, row.cable_m, row.size, row.xon, row.xoff, row.threshold, row.xon_offset]


def _ecmp_limit(sku: Path) -> int | None:
    for name in ("sai.profile", "sai.profile.j2"):
        if (sku / name).exists():
            found = _ECMP.search((sku / name).read_text(encoding="utf-8", errors="replace"))
            if found:
                return int(found.group(1))
    return None


def _spellings(sku: Path, cages: list[CageRow], mode_of: Mapping[str, str | None]) -> dict[str, Any] | None:
    """Aliases that port_config.ini spells otherwise than platform.json (field case F047)."""
    if not (sku / "port_config.ini").exists():
        return None
    table = {row.name: row.alias for row in read_port_config(sku / "port_config.ini")}
    ports: dict[str, list[str]] = {}
    for row in cages:
        mode = mode_of.get(row.name)
        if mode is None:
            continue
        for port in expand(row.name, Cage(row.name, row.index, row.lanes, row.modes, mode), mode, row.modes[mode]):
            alias = table.get(port.name)
            if alias is not None and alias != port.alias:
                ports[port.name] = [alias]
    return {"ports": ports} if ports else None


def _buffer_tables(sku: Path) -> dict[str, Any] | None:
    for name in ("buffers.json", "config_db.json"):
        if not (sku / name).exists():
            continue
        data = read_json_object(sku / name)
        if "BUFFER_POOL" in data and "BUFFER_PROFILE" in data:
            return buffer_set(data)
    return None


def buffer_set(data: Mapping[str, Any]) -> dict[str, Any]:
    """BUFFER_POOL and BUFFER_PROFILE of a rendered configuration as a buffer set of the catalogue."""
    model = str(data.get("DEVICE_METADATA", {}).get("localhost", {}).get("buffer_model", "traditional"))
    pools = {}
    for name, row in data["BUFFER_POOL"].items():
        if "size" not in row:
            raise PlatformError(f"BUFFER_POOL|{name} has no size: this box computes it (dynamic model)")
        pools[name] = {"kind": row["type"], "mode": row["mode"], "size": int(row["size"])}
        if "xoff" in row:
            pools[name]["xoff"] = int(row["xoff"])
    profiles = {}
    for name, row in data["BUFFER_PROFILE"].items():
        if name.startswith("pg_lossless_"):
            continue
        profiles[name] = {"pool": _bare(row["pool"]), "size": int(row["size"])}
        profiles[name].update({field: int(row[field]) for field in ("dynamic_th", "static_th") if field in row})
    return {"model": model, "pools": pools, "profiles": profiles}


def _bare(reference: str) -> str:
    """`[BUFFER_POOL|x]` of images before 202111 is `x` since."""
    return reference.strip("[]").split("|")[-1]


def _paths(prefix: str, top: Path | None, skus: list[Path]) -> list[str]:
    paths = [f"{prefix}platform.json"] if top else []
    for sku in skus:
        for name in ("port_config.ini", "hwsku.json", "pg_profile_lookup.ini", "sai.profile", "sai.profile.j2"):
            if (sku / name).exists():
                paths.append(f"{prefix}{sku.name}/{name}")
    return paths


def compress(cages: Sequence[CageRow]) -> list[dict[str, Any]]:
    """Cages as groups of the catalogue format: runs with one step, width and set of alias patterns."""
    groups: list[dict[str, Any]] = []
    run: list[CageRow] = []
    for row in cages:
        if run and not _continues(run, row):
            groups.append(_group(run))
            run = []
        run.append(row)
    if run:
        groups.append(_group(run))
    return groups


def _continues(run: list[CageRow], row: CageRow) -> bool:
    last = run[-1]
    step = port_number(row.name) - port_number(last.name)
    if len(run) > 1 and step != port_number(last.name) - port_number(run[-2].name):
        return False
    return (row.index, len(row.lanes), tuple(row.modes)) == (last.index + 1, len(last.lanes), tuple(last.modes))


def _group(run: list[CageRow]) -> dict[str, Any]:
    first = run[0]
    consecutive = all(row.lanes == tuple(range(row.lanes[0], row.lanes[0] + len(row.lanes))) for row in run)
    group: dict[str, Any] = {
        "first": port_number(first.name),
        "step": port_number(run[1].name) - port_number(first.name) if len(run) > 1 else len(first.lanes),
        "index": first.index,
        "width": len(first.lanes),
        "lanes": [row.lanes[0] if consecutive else list(row.lanes) for row in run],
    }
    for offset in (0, 1):
        patterns = {mode: _pattern(run, mode, offset) for mode in first.modes}
        if all(patterns.values()):
            if offset:
                group["alias_offset"] = offset
            group["modes"] = patterns
            return group
    group["modes"] = {mode: [list(row.modes[mode]) for row in run] for mode in first.modes}
    return group


def _pattern(run: list[CageRow], mode: str, offset: int) -> str | None:
    """An alias pattern that gives every alias of this mode in the run, or None."""
    first = run[0]
    count = len(child_aliases(mode, "", 0))
    number = str(first.index + offset)
    text = first.modes[mode][0]
    candidates = [re.sub(rf"(?<!\d){number}(?!\d)", "{i}", text)]
    if count > 1:
        stem = candidates[0]
        candidates = [stem[:at] + mark + stem[at + 1 :] for at, mark in _marks(stem)]
        # Where the index is 1 its digit is the same as the first child's: try each place.
        candidates += [
            re.sub(rf"(?<!\d){number}(?!\d)", "{i}", text[:at] + mark + text[at + 1 :]) for at, mark in _marks(text)
        ]
    for candidate in candidates:
        if all(child_aliases(mode, candidate, row.index + offset) == row.modes[mode][:count] for row in run):
            return candidate
    return None


def _marks(stem: str) -> list[tuple[int, str]]:
    return [(at, "{n}") for at, c in enumerate(stem) if c == "1"] + [
        (at, "{a}") for at, c in enumerate(stem) if c == "a"
    ]


def write_document(document: Mapping[str, Any], path: Path | None = None) -> str:
    """Text of a catalogue file, number lists on one line for review; written to `path` in one step where given."""
    text = json.dumps(document, indent=1, ensure_ascii=False)
    text = re.sub(r"\[\s+((?:-?\d+|null)(?:,\s+(?:-?\d+|null))*)\s+\]", lambda m: f"[{_one_line(m[1])}]", text)
    text = re.sub(r'\[\s+("[^"]*"|null),\s+(\d+)\s+\]', r"[\1, \2]", text) + "\n"
    if path is not None:
        write_whole(path, text)
    return text


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)
