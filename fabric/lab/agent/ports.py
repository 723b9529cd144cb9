"""Ports: CONFIG_DB into the kernel, the kernel's state into APPL_DB, STATE_DB and ASIC_DB.

What portmgrd, intfmgrd, neighsyncd, portsyncd and portsorch do on SONiC. State always comes from netlink: an oper
state or a flap is counted because the kernel said so, never because somebody asked for it.
"""

from __future__ import annotations

import ipaddress
import time
from dataclasses import dataclass

from fabric.lab.agent.config import Config, prefixes
from fabric.lab.agent.netlink import IFF_UP, NUD_VALID, Link, Netlink, NetlinkError
from fabric.lab.agent.oids import Oids
from fabric.lab.agent.rows import Rows

# lldpd loses track of ports when more links come up at once than its netlink buffer holds.
_AT_ONCE = 24
_LANE_SPEEDS = (25000, 50000, 100000)


@dataclass(slots=True)
class _Flaps:
    """Oper changes of a port since the switch's daemons started."""

    count: int = 0
    base: int = 0
    index: int = 0
    up: bool = False
    last_up: str = ""
    last_down: str = ""


class Ports:
    """The front-panel ports of one switch. `live` is False while its daemons are stopped; `came_up` are ports that
    got their carrier since somebody last emptied it."""

    def __init__(self, netlink: Netlink, config: Config, oids: Oids, appl: Rows, state: Rows, asic: Rows) -> None:
        self._netlink, self._config, self._oids = netlink, config, oids
        self._appl, self._state, self._asic = appl, state, asic
        self.links: dict[int, Link] = {}
        self._addresses: dict[int, set[str]] = {}
        self.neighbours: dict[tuple[str, str], str] = {}
        self._flaps: dict[str, _Flaps] = {}
        self._peer_macs: dict[int, str | None] = {}
        self._permanent: dict[int, set[tuple[str, str]]] = {}
        self.live = False
        self.came_up: set[str] = set()
        self.more = False
        self.names: dict[str, int] = {}

    def dump(self) -> None:
        """Read everything from the kernel: at start, and when events were lost."""
        before = set(self.names)
        for link in self._netlink.links():
            self.saw_link(link)
            before.discard(link.name)
        for name in before:
            self.lost_link(self.names[name])
        self._addresses = {}
        for index, address in self._netlink.addresses():
            self._addresses.setdefault(index, set()).add(address)
        self.neighbours = {}
        for index, neighbour, mac, state in self._netlink.neighbours():
            self.saw_neighbour(index, neighbour, mac, state)

    def saw_link(self, link: Link) -> None:
        """An interface is there, or has changed."""
        old = self.links.get(link.index)
        self.links[link.index] = link
        self.names[link.name] = link.index
        if old is None or not link.flags & IFF_UP:
            self._permanent.pop(link.index, None)  # the kernel forgets neighbours of an interface that is set down
        if link.name.startswith("Ethernet"):
            self._count(link.name, link.index, link.changes, link.up)

    def lost_link(self, index: int) -> None:
        """An interface is gone (a cable was taken out with its veth)."""
        link = self.links.pop(index, None)
        self._addresses.pop(index, None)
        self._peer_macs.pop(index, None)
        self._permanent.pop(index, None)
        if link is None or self.names.get(link.name) != index:
            return
        del self.names[link.name]
        for key in [key for key in self.neighbours if key[0] == link.name]:
            del self.neighbours[key]
        flaps = self._flaps.get(link.name)
        if flaps and flaps.up:
            self._moved(flaps, up=False, times=1)
            flaps.index = 0

    def saw_address(self, index: int, address: str, present: bool) -> None:
        """An address was put on an interface, or taken off."""
        there = self._addresses.setdefault(index, set())
        (there.add if present else there.discard)(address)

    def saw_neighbour(self, index: int, address: str, mac: str, state: int) -> bool:
        """A neighbour appeared, changed or went (state 0). True when that matters to next hops."""
        link = self.links.get(index)
        if link is None or not link.name.startswith("Ethernet") or address.startswith("fe80"):
            return False
        key = (link.name, address)
        if state & NUD_VALID and mac:
            changed = self.neighbours.get(key) != mac
            self.neighbours[key] = mac
            return changed
        return self.neighbours.pop(key, None) is not None

    def restart_counts(self) -> None:
        """The switch's daemons start anew: flap counts begin at zero."""
        for name in self._flaps:
            link = self.links.get(self.names.get(name, 0))
            self._flaps[name] = _Flaps(base=link.changes if link else 0, index=link.index if link else 0)
            if link and link.up:
                self._moved(self._flaps[name], up=True, times=1)

    def apply(self) -> None:
        """Bring the kernel to what CONFIG_DB says; `more` is set when ports are left to be brought up next time."""
        rows = self._config.rows("PORT") if self.live else {}
        wanted: dict[str, set[str]] = {}
        if self.live:
            for name, prefix in prefixes(self._config.rows("INTERFACE")):
                wanted.setdefault(name, set()).add(_plain(prefix))
            for name, prefix in prefixes(self._config.rows("LOOPBACK_INTERFACE")):
                wanted.setdefault(name, set()).add(_plain(prefix))
            self._loopbacks()
        raised = 0
        self.more = False
        for link in list(self.links.values()):
            if link.name.startswith("Ethernet"):
                row = rows.get(link.name)
                up = bool(row and row.get("admin_status") == "up")
                if up and not link.flags & IFF_UP:
                    if raised == _AT_ONCE:
                        self.more = True
                        continue
                    raised += 1
                mtu = int(row.get("mtu", "9100")) if row else None
                self._set(link, up, mtu, wanted.get(link.name, set()) if row else set())
                if up and link.up:
                    self._resolve(link, wanted.get(link.name, set()))
            elif link.name.startswith("Loopback"):
                self._set(link, True, None, wanted.get(link.name, set()))

    def manage(self) -> None:
        """Give eth0 the addresses of MGMT_INTERFACE; without a row it has none (there is no DHCP server)."""
        index = self.names.get("eth0")
        if index is None:
            return
        wanted = {_plain(prefix) for name, prefix in prefixes(self._config.rows("MGMT_INTERFACE")) if name == "eth0"}
        self._set(self.links[index], True, None, wanted)

    def publish(self) -> None:
        """Write what is known about ports into the databases."""
        rows = self._config.rows("PORT")
        appl: dict[str, dict[str, str]] = {}
        state: dict[str, dict[str, str]] = {}
        asic: dict[str, dict[str, str]] = {}
        for name, row in rows.items():
            link = self.links.get(self.names.get(name, 0))
            oper = "up" if link and link.up else "down"
            fields = {
                "description": "",
                "mtu": "9100",
                "admin_status": "down",
                "pfc_asym": "off",
                "tpid": "0x8100",
            } | row
            flaps = self._flaps.get(name)
            fields["oper_status"] = oper
            fields["flap_count"] = str(flaps.count if flaps else 0)
            if flaps and flaps.last_up:
                fields["last_up_time"] = flaps.last_up
            if flaps and flaps.last_down:
                fields["last_down_time"] = flaps.last_down
            appl[f"PORT_TABLE:{name}"] = fields
            state[f"PORT_TABLE|{name}"] = self._state_row(row, link, oper)
            asic[f"ASIC_STATE:SAI_OBJECT_TYPE_PORT:{self._oids.port(name)}"] = {
                "SAI_PORT_ATTR_ADMIN_STATE": "true" if fields["admin_status"] == "up" else "false",
                # 22 bytes of Ethernet header, FCS and VLAN tag, as portsorch adds them.
                "SAI_PORT_ATTR_MTU": str(int(fields["mtu"]) + 22),
                "SAI_PORT_ATTR_SPEED": row.get("speed", "0"),
            }
        self._appl.keep_only(appl, lambda key: key.startswith("PORT_TABLE:Ethernet"))
        self._state.keep_only(state, lambda key: key.startswith("PORT_TABLE|"))
        self._asic.keep_only(asic, lambda key: key.startswith("ASIC_STATE:SAI_OBJECT_TYPE_PORT:"))
        self._publish_addresses()

    def oper_up(self) -> set[str]:
        """Names of configured ports that are up."""
        rows = self._config.rows("PORT")
        return {link.name for link in self.links.values() if link.up and link.name in rows}

    def announce(self, names: set[str]) -> None:
        """Have the kernel tell about these ports again: somebody missed it when they came up."""
        for name in names:
            try:
                self._netlink.announce(self.names[name])
            except (KeyError, NetlinkError):
                continue

    def device(self, index: int) -> str | None:
        """Name of an interface."""
        link = self.links.get(index)
        return link.name if link else None

    def own_addresses(self) -> set[str]:
        """Addresses of fabric interfaces and loopbacks without prefix length."""
        return {
            address.split("/")[0]
            for index, addresses in self._addresses.items()
            if (link := self.links.get(index)) and link.name.startswith(("Ethernet", "Loopback"))
            for address in addresses
        }

    def _publish_addresses(self) -> None:
        appl: dict[str, dict[str, str]] = {}
        for table in ("INTERFACE", "LOOPBACK_INTERFACE"):
            for key in self._config.rows(table):
                name, _, prefix = key.partition("|")
                if prefix:
                    family = "IPv6" if ":" in prefix else "IPv4"
                    appl[f"INTF_TABLE:{name}:{prefix}"] = {"scope": "global", "family": family}
                else:
                    appl[f"INTF_TABLE:{name}"] = {}
        self._appl.keep_only(appl, lambda key: key.startswith("INTF_TABLE:"))
        neighbours = {
            f"NEIGH_TABLE:{name}:{address}": {"neigh": mac, "family": "IPv6" if ":" in address else "IPv4"}
            for (name, address), mac in self.neighbours.items()
        }
        self._appl.keep_only(neighbours, lambda key: key.startswith("NEIGH_TABLE:"))

    def _state_row(self, row: dict[str, str], link: Link | None, oper: str) -> dict[str, str]:
        lanes = row.get("lanes", "").count(",") + 1
        speeds = sorted({lane * count for lane in _LANE_SPEEDS for count in (1, 2, 4, 8) if count <= lanes})
        return {
            "state": "ok",
            "netdev_oper_status": oper,
            "admin_status": "up" if link and link.flags & IFF_UP else "down",
            "mtu": str(link.mtu) if link else row.get("mtu", "9100"),
            "host_tx_ready": "true" if row.get("admin_status") == "up" else "false",
            "supported_speeds": ",".join(map(str, speeds)),
            "supported_fecs": "rs,none",
            "speed": row.get("speed", "N/A") if oper == "up" else "N/A",
            "fec": row.get("fec", "none") if oper == "up" else "N/A",
        }

    def _set(self, link: Link, up: bool, mtu: int | None, wanted: set[str]) -> None:
        try:
            if mtu is not None and link.mtu != mtu:
                self._netlink.set_link(link.index, mtu=mtu)
                link.mtu = mtu
            if bool(link.flags & IFF_UP) != up:
                self._netlink.set_link(link.index, up=up)
                link.flags ^= IFF_UP
                if not up:
                    self._permanent.pop(link.index, None)
            there = self._addresses.setdefault(link.index, set())
            for address in there - wanted:
                self._netlink.set_address(link.index, address, present=False)
            for address in wanted - there:
                self._netlink.set_address(link.index, address, present=True)
            self._addresses[link.index] = set(wanted)
        except NetlinkError as error:
            # The interface went away under us: its event is on the way. A bad address is the switch's loss alone.
            print(f"{link.name}: {error}", flush=True)

    def _resolve(self, link: Link, addresses: set[str]) -> None:
        """Permanent neighbours on point-to-point links, since the kernel's table is shared by the whole machine."""
        if link.index not in self._peer_macs:
            self._peer_macs[link.index] = self._netlink.peer_mac(link)
        mac = self._peer_macs[link.index]
        if mac is None:
            return
        known = self._permanent.setdefault(link.index, set())
        for address in addresses:
            interface = ipaddress.ip_interface(address)
            if interface.network.prefixlen == interface.max_prefixlen - 1:
                peer = str(next(host for host in interface.network if host != interface.ip))
                if (peer, mac) not in known:
                    self._netlink.set_neighbour(link.index, peer, mac)
                    known.add((peer, mac))

    def _loopbacks(self) -> None:
        for name in {key.partition("|")[0] for key in self._config.rows("LOOPBACK_INTERFACE")} - set(self.names):
            for kind in ("dummy", "ifb"):  # what the kernel has; both are always up
                try:
                    self._netlink.add_link(name, kind)
                    break
                except NetlinkError:
                    continue
            for link in self._netlink.links():
                if link.name == name:
                    self.saw_link(link)

    def _count(self, name: str, index: int, changes: int, up: bool) -> None:
        flaps = self._flaps.setdefault(name, _Flaps())
        if flaps.index != index:
            # A new device counts from its own beginning. One with a carrier from the first look on came up once.
            flaps.index, flaps.base = index, changes
            times = 1 if up != flaps.up else 0
        else:
            times, flaps.base = changes - flaps.base, changes
            if (times % 2 == 1) != (up != flaps.up):
                times = max(times, 1) if up != flaps.up else 0
        if times > 0:
            self._moved(flaps, up, times)
            if up:
                self.came_up.add(name)

    @staticmethod
    def _moved(flaps: _Flaps, up: bool, times: int) -> None:
        now = time.strftime("%a %b %d %H:%M:%S %Y", time.gmtime())
        flaps.count += times
        flaps.up = up
        if up or times > 1:
            flaps.last_up = now
        if not up or times > 1:
            flaps.last_down = now


def _plain(prefix: str) -> str:
    try:
        return str(ipaddress.ip_interface(prefix))
    except ValueError:
        return prefix
