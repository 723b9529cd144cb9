"""Rules over several switches' files: both ends of a cable, names and numbers that must be unique in a fabric.

The files say who is at the other end (DEVICE_NEIGHBOR); an end whose switch is not among the files is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from fabric.lint.view import Address, Config, found, some, text
from fabric.values.finding import Finding, Status
from fabric.values.plan import cable_name


def both_ends_agree(configs: Mapping[str, Config]) -> Iterator[Finding]:
    """CFG-80: speed, FEC and MTU are equal at both ends of a cable, the addresses share a subnet (F052)."""
    for device, config in configs.items():
        by_port: dict[str, list[Address]] = {}
        for address in config.addresses:
            by_port.setdefault(address.name, []).append(address)
        for port, row in config.rows("DEVICE_NEIGHBOR").items():
            peer, peer_port = text(row.get("name")), text(row.get("port"))
            other = configs.get(peer)
            if other is None or port not in config.ports:
                continue
            cable = cable_name(device, port, peer, peer_port)
            far = other.ports.get(peer_port)
            if far is None:
                what = f"{peer} has no port {peer_port}"
                where = ("DEVICE_NEIGHBOR", port, "port")
                finding = found("CFG-80", where, what, "correct the neighbour's port", value=peer_port, device=device)
                yield replace(finding, cable=cable)
                continue
            back = other.rows("DEVICE_NEIGHBOR").get(peer_port)
            if back is not None and (text(back.get("name")), text(back.get("port"))) != (device, port):
                seen = f"{text(back.get('name'))}:{text(back.get('port'))}"
                what = f"{peer}:{peer_port} says that its neighbour is {seen}"
                where = ("DEVICE_NEIGHBOR", port, "name")
                finding = found("CFG-80", where, what, "make both files tell one story", value=peer, device=device)
                yield replace(finding, cable=cable)
                continue
            if (device, port) > (peer, peer_port):
                continue
            near = config.ports[port]
            for field, default in (("speed", ""), ("fec", ""), ("mtu", "9100")):
                here, there = text(near.get(field)) or default, text(far.get(field)) or default
                if here != there and not (field == "fec" and "auto" in (here, there)):
                    what = f'"{there}" at the other end ({peer}:{peer_port})'
                    finding = found("CFG-80", ("PORT", port, field), what, "make both ends equal", value=here)
                    yield replace(finding, device=device, cable=cable)
            theirs = [address for address in other.addresses if address.name == peer_port]
            for address in by_port.get(port, []):
                same = [end for end in theirs if end.interface.version == address.interface.version]
                if same and all(end.interface.network != address.interface.network for end in same):
                    what = f"{same[0].interface} at the other end ({peer}:{peer_port}) is another subnet"
                    finding = found("CFG-80", (address.table, address.key, None), what, "use one /31 for the cable")
                    yield replace(finding, device=device, cable=cable)


def sessions_agree(configs: Mapping[str, Config]) -> Iterator[Finding]:
    """CFG-81: the AS number a session expects is the one its far end has."""
    owners = {
        str(address.interface.ip): (device, text(config.metadata.get("bgp_asn")))
        for device, config in configs.items()
        for address in config.addresses
        if address.table != "MGMT_INTERFACE"
    }
    for device, config in configs.items():
        for key, row in config.rows("BGP_NEIGHBOR").items():
            owner = owners.get(key.rpartition("|")[2])
            expected = text(row.get("asn"))
            if owner is None or owner[0] == device or not owner[1] or not expected or owner[1] == expected:
                continue
            what = f"{owner[0]}, whose address this is, has AS {owner[1]}"
            where = ("BGP_NEIGHBOR", key, "asn")
            yield found("CFG-81", where, what, f'write "{owner[1]}"', value=expected, device=device)


def addresses_are_unique(configs: Mapping[str, Config]) -> Iterator[Finding]:
    """CFG-82: no address stands on two switches, and no cable's subnet on more than its two ends (F116)."""
    holders: dict[str, list[tuple[str, Address]]] = {}
    subnets: dict[str, list[tuple[str, Address]]] = {}
    for device, config in configs.items():
        for address in config.addresses:
            holders.setdefault(str(address.interface.ip), []).append((device, address))
            if address.table == "INTERFACE":
                subnets.setdefault(str(address.interface.network), []).append((device, address))
    for entries in holders.values():
        first, *others = entries
        for device, address in others:
            if device != first[0]:
                what = f"{first[0]} has this address too ({first[1].table}|{first[1].key})"
                where = (address.table, address.key, None)
                yield found("CFG-82", where, what, "give each switch its own address", device=device)
    for network, entries in subnets.items():
        if len(entries) > 2:
            device, address = entries[2]
            names = some({f"{owner}:{place.name}" for owner, place in entries})
            what = f"{network} stands on {len(entries)} ports: {names}"
            where = (address.table, address.key, None)
            yield found("CFG-82", where, what, "give each cable a subnet of its own", device=device)


def host_names_are_unique(configs: Mapping[str, Config]) -> Iterator[Finding]:
    """CFG-83: two switches of one host name are one neighbour in LLDP."""
    owners: dict[str, str] = {}
    for device, config in configs.items():
        name = text(config.metadata.get("hostname"))
        if not name:
            continue
        if name in owners:
            what = f"{owners[name]} has this name too"
            where = ("DEVICE_METADATA", "localhost", "hostname")
            yield found(
                "CFG-83", where, what, "give each switch its own name", value=name, device=device, status=Status.WARN
            )
        owners.setdefault(name, device)


RULES = (both_ends_agree, sessions_agree, addresses_are_unique, host_names_are_unique)
