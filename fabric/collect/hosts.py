"""Hosts, optionally: what `sh -s` asks a GPU node (as any user), and how its answer is read.

The same script run by a node agent and dropped as a file (`HOST.txt`) is read the same. Only standard tools: `ip`,
`ethtool`, `lldpctl`, `mlnx_qos` where they are; sysfs otherwise. Facts: sonic.md 6.2, ai-fabric.md 3.7.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fabric.collect import parse_lldp
from fabric.collect.answer import Answer, split
from fabric.collect.parse_system import mac
from fabric.collect.scalars import clean, integer
from fabric.collect.tables import load_json
from fabric.errors import CollectError, InputError, Problem
from fabric.values.codec import loads
from fabric.values.snapshot import Hole, HostState, LldpNeighbour, NicState

_SHELL = r"""
main() {
tok=$1
LC_ALL=C
PATH=$PATH:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin
export LC_ALL PATH
begin() { printf '\n@@%s begin %s\n' "$tok" "$*"; printf '\n@@%s begin %s\n' "$tok" "$*" >&2; }
end() { printf '\n@@%s end %s %s\n' "$tok" "$1" "$2"; }
run() { name=$1; limit=$2; shift 2; begin "$name"; timeout -k 2 "$limit" "$@"; end "$name" $?; }
say() { if [ -r "$2" ] && IFS= read -r line 2>/dev/null <"$2"; then printf '%s %s %s\n' "$net" "$1" "$line"; fi; }
if [ "$(id -u)" = 0 ]; then sudo=; else sudo='sudo -n'; fi
begin system
printf 'clock %s\n' "$(date +%s)"
if read -r line </proc/sys/kernel/hostname; then printf 'hostname %s\n' "$line"; fi
end system 0
run links 10 ip -j -s addr show
begin nics
for dev in /sys/class/net/*; do
 net=${dev##*/}
 [ "$net" = lo ] && continue
 if [ -e "$dev/device" ]; then pci=$(readlink -f "$dev/device") && printf '%s pci %s\n' "$net" "${pci##*/}"; fi
 say mac "$dev/address"
 say up "$dev/operstate"
 say speed "$dev/speed"
 say carrier_down "$dev/carrier_down_count"
 say carrier_changes "$dev/carrier_changes"
 say pcie_speed "$dev/device/current_link_speed"
 say pcie_width "$dev/device/current_link_width"
 say pcie_max_speed "$dev/device/max_link_speed"
 say pcie_max_width "$dev/device/max_link_width"
 say arp_ignore "/proc/sys/net/ipv4/conf/$net/arp_ignore"
 say arp_announce "/proc/sys/net/ipv4/conf/$net/arp_announce"
 say rp_filter "/proc/sys/net/ipv4/conf/$net/rp_filter"
 for hca in "$dev"/device/infiniband/*; do
  [ -d "$hca" ] || continue
  printf '%s hca %s\n' "$net" "${hca##*/}"
  for port in "$hca"/ports/*; do
   say hca_rate "$port/rate"
   say hca_state "$port/state"
   for gid in "$port"/gid_attrs/types/*; do
    n=${gid##*/}
    if IFS= read -r kind 2>/dev/null <"$gid" && IFS= read -r value <"$port/gids/$n"; then
     printf '%s gid %s %s %s\n' "$net" "$n" "$value" "$kind"
    fi
   done
   for c in "$port"/hw_counters/* "$port"/counters/*; do
    [ -f "$c" ] && IFS= read -r value 2>/dev/null <"$c" && printf '%s counter %s %s\n' "$net" "${c##*/}" "$value"
   done
   say traffic_class "/sys/kernel/config/rdma_cm/${hca##*/}/ports/${port##*/}/default_roce_tos"
  done
  for ecn in "$dev"/ecn/roce_np/enable/* "$dev"/ecn/roce_rp/enable/*; do
   [ -f "$ecn" ] || continue
   name=${ecn%/enable/*}
   say "ecn_${name##*/}_${ecn##*/}" "$ecn"
  done
 done
done
end nics 0
begin qos
if command -v mlnx_qos >/dev/null; then
 for dev in /sys/class/net/*/device/infiniband; do
  net=${dev#/sys/class/net/}; net=${net%%/*}
  [ -d "$dev" ] || continue
  printf 'nic %s\n' "$net"
  timeout -k 2 5 $sudo mlnx_qos -i "$net"
 done
fi
end qos 0
begin stats
if command -v ethtool >/dev/null; then
 for dev in /sys/class/net/*/device; do
  net=${dev#/sys/class/net/}; net=${net%%/*}
  printf 'nic %s\n' "$net"
  timeout -k 2 5 ethtool -S "$net" 2>/dev/null | grep -E 'prio[0-9]_pause|prio[0-9]_discards|out_of_buffer|cnp|ecn|discard|crc|symbol|fec|link_down'
 done
fi
end stats 0
run lldpctl 5 $sudo lldpctl -f json0
printf '\n@@%s done\n' "$tok"
printf '\n@@%s done\n' "$tok" >&2
}
"""  # noqa: E501 - shell

_LAYER_OF_HOST_FILES = (".txt", ".json")
_STATE_WORDS = {"up": True, "down": False, "lowerlayerdown": False, "notpresent": False, "dormant": False}


def host_script(*, token: str = "railfab") -> str:
    """The script to give `sh -s` on a host; reads, changes nothing, needs no root (LLDP and mlnx_qos may)."""
    if not token.isalnum() or not token.isascii():
        raise ValueError("token must be letters and digits")
    return f"{_SHELL.strip()}\nmain {token} </dev/null\n"


def parse_host(
    host: str,
    answer: str | bytes,
    taken_at: float,
    source: str = "",
    *,
    errors: str | bytes = "",
    token: str | None = None,
) -> HostState:
    """Typed state of one host. CollectError only when the answer holds nothing of ours."""
    cut = split(answer, errors, token=token)
    holes: list[Hole] = []
    nics: dict[str, NicState] | None = None
    rows: tuple[LldpNeighbour, ...] | None = None
    try:
        nics = _nics(cut)
    except CollectError as error:
        holes.append(Hole("nics", str(error)))
    try:
        rows = _lldp(cut)
    except CollectError as error:
        holes.append(Hole("lldp", str(error)))
    return HostState(host=host, taken_at=taken_at, source=source, holes=tuple(holes), nics=nics, lldp=rows)


def _text(cut: Answer, name: str) -> str:
    section = cut.sections.get(name)
    if section is None:
        raise CollectError("the answer was cut off" if not cut.complete else "not asked")
    failure = section.failure()
    if failure is not None:
        raise CollectError(failure)
    return section.text


def _lldp(cut: Answer) -> tuple[LldpNeighbour, ...]:
    rows = parse_lldp.from_lldpctl(_text(cut, "lldpctl"))
    if not rows:
        # The NIC's firmware may eat the frames before Linux sees them (F035): silence here proves nothing.
        raise CollectError("lldpd sees no neighbour; a firmware LLDP agent may hide the frames: use the switch side")
    return rows


def _nics(cut: Answer) -> dict[str, NicState]:
    facts: dict[str, dict[str, Any]] = {}
    for line in _text(cut, "nics").splitlines():
        words = line.split(None, 2)
        if len(words) == 3:
            _fact(facts.setdefault(clean(words[0]), _blank()), words[1], words[2].strip())
    for name, row in _addresses(cut).items():
        if name in facts:
            facts[name] |= row
    for name, settings in _qos(cut).items():
        if name in facts:
            facts[name]["settings"] |= settings
    for name, counters in _stats(cut).items():
        if name in facts:
            facts[name]["counters"] |= counters
    if not facts:
        raise CollectError("no network device in sysfs: not a host, or /sys is not mounted")
    return {name: NicState(netdev=name, **{**row, "gids": tuple(row["gids"])}) for name, row in facts.items()}


def _blank() -> dict[str, Any]:
    return {"settings": {}, "counters": {}, "gids": []}


def _fact(row: dict[str, Any], name: str, value: str) -> None:
    match name:
        case "pci" | "hca":
            row[name] = clean(value)
        case "mac":
            row["mac"] = mac(value)
        case "up":
            row["oper_up"] = _STATE_WORDS.get(value)
        case "speed":
            speed = integer(value)
            row["speed_mbps"] = speed if speed is not None and speed > 0 else None
        case "carrier_down":
            row["carrier_down_count"] = integer(value)
        case "counter":
            field, _, number = value.partition(" ")
            count = integer(number)
            if count is not None:
                row["counters"][clean(field)] = count
        case "gid":
            row["gids"].append(clean(value))
        case _:
            row["settings"][clean(name)] = clean(value)


def _addresses(cut: Answer) -> dict[str, dict[str, Any]]:
    try:
        rows = load_json(_text(cut, "links"))
    except CollectError:
        return {}
    found: dict[str, dict[str, Any]] = {}
    for row in rows if isinstance(rows, list) else ():
        if not isinstance(row, dict) or not isinstance(row.get("ifname"), str):
            continue
        name = clean(row["ifname"])
        addresses = row.get("addr_info")
        found[name] = {
            "mtu": row["mtu"] if isinstance(row.get("mtu"), int) else None,
            "addresses": tuple(
                f"{clean(one['local'])}/{one['prefixlen']}"
                for one in (addresses if isinstance(addresses, list) else ())
                if isinstance(one, dict) and isinstance(one.get("local"), str) and isinstance(one.get("prefixlen"), int)
            ),
        }
    return found


def _qos(cut: Answer) -> dict[str, dict[str, str]]:
    """`mlnx_qos` text: trust state, PFC, and the DSCP to priority map (F084)."""
    found: dict[str, dict[str, str]] = {}
    section = cut.sections.get("qos")
    current: dict[str, str] = {}
    for line in section.text.splitlines() if section else ():
        words = line.split()
        if line.startswith("nic ") and len(words) == 2:
            current = found.setdefault(clean(words[1]), {})
        elif "trust state:" in line:
            current["trust"] = clean(line.rpartition(":")[2])
        elif words[:1] == ["enabled"]:
            current["pfc"] = ",".join(words[1:9])
        elif match := re.match(r"\s*prio:(\d) dscp:([\d, ]+)", line, re.ASCII):
            for code in match.group(2).replace(" ", "").split(","):
                if code:
                    current[f"dscp_{int(code):d}"] = match.group(1)
    return found


def _stats(cut: Answer) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    section = cut.sections.get("stats")
    current: dict[str, int] = {}
    for line in section.text.splitlines() if section else ():
        name, colon, value = line.strip().partition(":")
        if line.startswith("nic "):
            current = found.setdefault(clean(line[4:]), {})
        elif colon:
            count = integer(value)
            if count is not None:
                current[clean(name)] = count
    return found


def dropped(folder: Path) -> tuple[dict[str, HostState], dict[str, str]]:
    """Host states of the files a node agent dropped, and problems by file name.

    `HOST.txt` is the answer of the host script, `HOST.json` a HostState as railfab writes it; the time is the file's.
    InputError when the folder cannot be read at all.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix in _LAYER_OF_HOST_FILES)
    except OSError as error:
        raise InputError(
            Problem(f"cannot be read: {error.strerror}", "give the folder node agents write to", file=str(folder))
        ) from None
    states: dict[str, HostState] = {}
    problems: dict[str, str] = {}
    for path in files:
        try:
            data = path.read_bytes()
            taken_at = path.stat().st_mtime
            if path.suffix == ".json":
                states[path.stem] = replace(loads(HostState, data, path.name), source=f"file {path.name}")
            else:
                states[path.stem] = parse_host(path.stem, data, taken_at, f"file {path.name}")
        except (OSError, InputError, CollectError) as error:
            problems[path.name] = str(error)
    return states, problems


def by_hca(state: HostState) -> Mapping[str, NicState]:
    """NICs that have an RDMA device, by its name. Storage and management NICs without one are not among them (F124)."""
    return {nic.hca: nic for nic in (state.nics or {}).values() if nic.hca}
