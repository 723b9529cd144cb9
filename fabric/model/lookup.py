"""Questions about one place in a Plan: the far end of a port, the rail of a NIC."""

from __future__ import annotations

from fabric.values.plan import Plan, PlannedNic


def far_end(plan: Plan, device: str, port: str) -> tuple[str, str] | None:
    """Device and port at the other end of the planned cable, from either side; None where none is planned."""
    switch = plan.switches.get(device)
    if switch is not None:
        planned = switch.ports.get(port)
        if planned is None or planned.peer_device is None or planned.peer_port is None:
            return None
        return planned.peer_device, planned.peer_port
    nic = nic_of(plan, device, port)
    return (nic.switch, nic.switch_port) if nic is not None else None


def nic_of(plan: Plan, host: str, name: str) -> PlannedNic | None:
    """A NIC by its plan name (`rail0`), HCA (`mlx5_0`) or netdev name; None when the host has no such one."""
    found = plan.hosts.get(host)
    if found is None:
        return None
    nic = found.nics.get(name)
    if nic is not None:
        return nic
    return next((nic for nic in found.nics.values() if name in (nic.hca, nic.netdev, nic.pci)), None)


def rail_of(plan: Plan, host: str, name: str) -> int | None:
    """The rail of a NIC, None for storage NICs and unknown ones."""
    nic = nic_of(plan, host, name)
    return nic.rail if nic is not None else None
