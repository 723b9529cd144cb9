"""What a healthy port, module and queue look like to a collector, and the identities devices show.

Everything that is equal between ports is one shared object: a fabric of 3,840 switches has half a million of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fabric.values.plan import HostPlan, LifeState, Plan, PlannedNic, PlannedPort, SwitchPlan
from fabric.values.snapshot import LldpNeighbour, Optic, PortState

BOOT_AGE_S = 30 * 86400.0
_UTILISATION = 0.4
_PACKET_BYTES = 4096
# Module power registers count 0.1 uW (CMIS): a dark lane is at or below -40 dBm.
_DARK_DBM = -40.0

_THRESHOLDS: Mapping[str, float] = {
    "temphighalarm": 75.0,
    "temphighwarning": 70.0,
    "templowwarning": 0.0,
    "templowalarm": -5.0,
    "vcchighalarm": 3.63,
    "vcchighwarning": 3.465,
    "vcclowwarning": 3.135,
    "vcclowalarm": 2.97,
    "rxpowerhighalarm": 6.0,
    "rxpowerhighwarning": 5.0,
    "rxpowerlowwarning": -7.0,
    "rxpowerlowalarm": -9.0,
    "txpowerhighalarm": 6.0,
    "txpowerhighwarning": 5.0,
    "txpowerlowwarning": -5.0,
    "txpowerlowalarm": -7.0,
    "txbiashighalarm": 150.0,
    "txbiashighwarning": 140.0,
    "txbiaslowwarning": 30.0,
    "txbiaslowalarm": 20.0,
}


def mac(number: int) -> str:
    """A locally administered MAC address of the documentation range 02:00:5e for object `number` (< 2^24)."""
    return f"02:00:5e:{number >> 16 & 255:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"


@dataclass(slots=True)
class Identities:
    """MAC addresses of every device of a plan: the plan's own where it has them, else made from the order."""

    plan: Plan
    _switches: dict[str, str] = field(default_factory=dict)
    _hosts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, (name, switch) in enumerate(self.plan.switches.items()):
            self._switches[name] = switch.base_mac or mac(number)
        for number, name in enumerate(self.plan.hosts):
            self._hosts[name] = number

    def switch(self, name: str) -> str:
        """Base MAC (chassis id) of a switch."""
        return self._switches[name]

    def nic(self, host: HostPlan, nic: PlannedNic) -> str:
        """MAC of a NIC."""
        if nic.mac:
            return nic.mac
        position = list(host.nics).index(nic.name)
        return mac((1 << 20) + 32 * self._hosts[host.name] + position)

    def chassis(self, host: HostPlan) -> str:
        """Chassis id of a host: the MAC of its first NIC, as lldpd does."""
        return self.nic(host, next(iter(host.nics.values())))


@dataclass(slots=True)
class Looks:
    """Shared pieces of state at one time `at` of a fabric that booted at `booted`."""

    plan: Plan
    identities: Identities
    at: float
    booted: float
    _ports: dict[tuple[object, ...], PortState] = field(default_factory=dict)
    _counters: dict[tuple[int, bool], dict[str, int]] = field(default_factory=dict)
    _rates: dict[tuple[int, bool], dict[str, float]] = field(default_factory=dict)
    _tables: dict[tuple[object, ...], tuple[Mapping[str, Mapping[str, int | str]], ...]] = field(default_factory=dict)
    _sensors: dict[tuple[int, bool], dict[str, float]] = field(default_factory=dict)
    _from_host: dict[tuple[str, str], LldpNeighbour] = field(default_factory=dict)

    def port(self, planned: PlannedPort, up: bool) -> PortState:
        """APPL_DB/STATE_DB view of a port that is what the plan says."""
        key = (
            planned.name, planned.alias, planned.index, planned.lanes, planned.speed_mbps, planned.fec, planned.mtu,
            planned.admin_up, up, planned.peer_device, planned.peer_port,
        )  # fmt: skip
        state = self._ports.get(key)
        if state is None:
            state = self._ports[key] = PortState(
                name=planned.name,
                oper_up=up,
                admin_up=planned.admin_up,
                speed_mbps=planned.speed_mbps,
                oper_speed_mbps=planned.speed_mbps if up else None,
                mtu=planned.mtu,
                fec=planned.fec,
                oper_fec=planned.fec if up else None,
                lanes=planned.lanes,
                alias=planned.alias,
                index=planned.index,
                description=description(planned),
                autoneg=None,
                flap_count=1 if up else 0,
                last_up_time=self.booted + 90 if up else None,
                last_down_time=None,
            )
        return state

    def counters(self, planned: PlannedPort, up: bool) -> Mapping[str, int]:
        """COUNTERS_DB of a port since boot."""
        key = (planned.speed_mbps, up)
        found = self._counters.get(key)
        if found is None:
            seconds = self.at - self.booted if up else 0.0
            octets = int(planned.speed_mbps * 1e6 / 8 * _UTILISATION * seconds)
            packets = octets // _PACKET_BYTES
            codewords = int(planned.speed_mbps * 1e6 / 5440 * seconds)
            found = {
                "IF_IN_OCTETS": octets,
                "IF_OUT_OCTETS": octets,
                "IF_IN_UCAST_PKTS": packets,
                "IF_OUT_UCAST_PKTS": packets,
                "IF_IN_DISCARDS": 0,
                "IF_OUT_DISCARDS": 0,
                "IF_IN_ERRORS": 0,
                "IF_OUT_ERRORS": 0,
                "IN_DROPPED_PKTS": 0,
                "OUT_DROPPED_PKTS": 0,
                "IF_IN_FEC_CORRECTABLE_FRAMES": codewords // 100_000,
                "IF_IN_FEC_NOT_CORRECTABLE_FRAMES": 0,
                "IF_IN_FEC_SYMBOL_ERRORS": codewords // 95_000,
                "IF_IN_FEC_CORRECTED_BITS": codewords // 90_000,
            }
            for priority in range(8):
                found[f"PFC_{priority}_RX_PKTS"] = 0
                found[f"PFC_{priority}_TX_PKTS"] = 0
            for symbols in range(16):
                found[f"IF_IN_FEC_CODEWORD_ERRORS_S{symbols}"] = codewords // 10 ** (5 * symbols) if symbols < 3 else 0
            self._counters[key] = found
        return found

    def rates(self, planned: PlannedPort, up: bool) -> Mapping[str, float]:
        """RATES of a port; bytes a second for *_BPS."""
        key = (planned.speed_mbps, up)
        found = self._rates.get(key)
        if found is None:
            bytes_s = planned.speed_mbps * 1e6 / 8 * _UTILISATION if up else 0.0
            found = {
                "RX_BPS": bytes_s,
                "TX_BPS": bytes_s,
                "RX_PPS": bytes_s / _PACKET_BYTES,
                "TX_PPS": bytes_s / _PACKET_BYTES,
                "FEC_PRE_BER": 2e-9 if up else 0.0,
                "FEC_POST_BER": 0.0,
            }
            self._rates[key] = found
        return found

    def tables(
        self, ports: tuple[tuple[str, int, bool, bool], ...]
    ) -> tuple[Mapping[str, Mapping[str, int | str]], Mapping[str, Mapping[str, int | str]]]:
        """Queues and priority groups of a switch whose ports are (name, speed, up, lossless)."""
        found = self._tables.get(ports)
        if found is None:
            queues: dict[str, Mapping[str, int | str]] = {}
            pgs: dict[str, Mapping[str, int | str]] = {}
            qos = self.plan.qos
            rows: dict[tuple[int, bool, bool, str], tuple[Mapping[str, int | str], Mapping[str, int | str]]] = {}
            for name, speed, up, lossless in ports:
                for number in range(8):
                    kind = "data" if number == qos.lossless_tc else "cnp" if number == qos.cnp_tc else "other"
                    key = (speed, up, lossless, kind)
                    if key not in rows:
                        rows[key] = self._rows(*key)
                    queues[f"{name}:{number}"], pgs[f"{name}:{number}"] = rows[key]
            found = self._tables[ports] = (queues, pgs)
        return found[0], found[1]

    def _rows(
        self, speed: int, up: bool, lossless: bool, kind: str
    ) -> tuple[Mapping[str, int | str], Mapping[str, int | str]]:
        share = {"data": 0.99, "cnp": 0.0001, "other": 0.0}[kind]
        octets = int(speed * 1e6 / 8 * _UTILISATION * share * (self.at - self.booted)) if up else 0
        packets = octets // _PACKET_BYTES
        queue: dict[str, int | str] = {
            "PACKETS": packets,
            "BYTES": octets,
            "DROPPED_PACKETS": 0,
            "DROPPED_BYTES": 0,
            "WRED_ECN_MARKED_PACKETS": packets // 100_000,
            "WRED_ECN_MARKED_BYTES": octets // 100_000,
        }
        if lossless and kind == "data":
            queue |= {
                "PFC_WD_STATUS": "operational",
                "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED": 0,
                "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED": 0,
            }
        return queue, {"PACKETS": packets, "BYTES": octets, "DROPPED_PACKETS": 0}

    def optic(self, planned: PlannedPort, up: bool, serial: str, first_of_cage: bool, length_m: int) -> Optic:
        """The module of a port. Sensors stand on the first child of a cage only, as SONiC 202505+ has them."""
        lanes = max(1, len(planned.lanes))
        sensors: Mapping[str, float] = {}
        if first_of_cage:
            key = (lanes, up)
            if key not in self._sensors:
                self._sensors[key] = _sensors(lanes, up)
            sensors = self._sensors[key]
        return Optic(
            port=planned.name,
            present=True,
            kind="OSFP 8X Pluggable Transceiver" if planned.speed_mbps >= 800_000 or lanes >= 4 else "QSFP-DD",
            vendor="SYNTHETIC",
            model="DR8" if length_m > 3 else "CR8",
            serial=serial,
            cable_m=float(length_m),
            sensors=sensors,
            thresholds=_THRESHOLDS if first_of_cage else {},
            state="READY",
        )

    def from_switch(self, switch: SwitchPlan, port: PlannedPort, local_port: str) -> LldpNeighbour:
        """The row a neighbour of this switch port has."""
        return LldpNeighbour(
            local_port=local_port,
            system_name=switch.name,
            chassis_id=self.identities.switch(switch.name),
            chassis_subtype="mac",
            port_id=port.alias,
            port_subtype="local",
            port_description=description(port) or port.name,
            system_description=self._description(switch),
            management_addresses=(switch.mgmt_address.partition("/")[0],) if switch.mgmt_address else (),
            age_s=12.0,
        )

    def from_host(self, host: HostPlan, nic: PlannedNic, local_port: str) -> LldpNeighbour:
        """The row a switch has of this NIC (lldpd's defaults on Linux)."""
        return LldpNeighbour(
            local_port=local_port,
            system_name=host.name,
            chassis_id=self.identities.chassis(host),
            chassis_subtype="mac",
            port_id=self.identities.nic(host, nic),
            port_subtype="mac",
            port_description=nic.netdev or nic.name,
            system_description="Linux",
            management_addresses=(host.mgmt_address.partition("/")[0],) if host.mgmt_address else (),
            age_s=12.0,
        )

    def _description(self, switch: SwitchPlan) -> str:
        return f"SONiC Software Version: SONiC.{self.plan.release} - HwSku: {switch.hwsku}"


def _sensors(lanes: int, up: bool) -> dict[str, float]:
    sensors = {"temperature": 48.5, "voltage": 3.3}
    for lane in range(1, lanes + 1):
        sensors[f"rx{lane}power"] = 1.2 if up else _DARK_DBM
        sensors[f"tx{lane}power"] = 1.8
        sensors[f"tx{lane}bias"] = 80.0
    return sensors


def description(port: PlannedPort) -> str:
    """PORT.description as `fabric.render` writes it; lldpd sends it as port description."""
    return f"{port.name}|to:{port.peer_device}:{port.peer_port}" if port.peer_device else ""


def alive(state: LifeState) -> bool:
    """Whether an object in this state of life is there and powered."""
    return state in (LifeState.IN_SERVICE, LifeState.INSTALLED)
