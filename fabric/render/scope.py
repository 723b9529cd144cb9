"""One switch as the table builders see it: its Plan, the policy, the release, and its ports in order and by class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fabric.errors import RenderError
from fabric.render.order import natural
from fabric.render.policy import Templates
from fabric.render.releases import Release, release
from fabric.values.plan import BufferPlan, LifeState, Network, Plan, PlannedPort, PortUse, SwitchPlan

_FABRIC_USES = (PortUse.HOST, PortUse.FABRIC)


@dataclass(frozen=True, slots=True)
class Scope:
    """What is rendered. `ports` are all in natural order; `fabric` those that carry or may carry fabric cables.

    `lossless` are names of ports with PFC now: planned places have none until they are in service.
    `reserved` are planned ports of a lossless switch: all but the lossless rows is there already.
    """

    plan: Plan
    switch: SwitchPlan
    templates: Templates
    release: Release
    ports: tuple[PlannedPort, ...]
    fabric: tuple[PlannedPort, ...]
    lossless: frozenset[str]
    reserved: frozenset[str]
    buffers: BufferPlan | None

    def policy(self, name: str) -> Mapping[str, Any]:
        """The parsed `templates/config_db/NAME.yaml`."""
        return self.templates.config_db[name]

    @property
    def pfc(self) -> bool:
        """Whether any port of this switch has a lossless class."""
        return bool(self.lossless)


def scope(plan: Plan, name: str, templates: Templates) -> Scope:
    """The scope of switch `name`; RenderError when the Plan cannot be rendered for it."""
    switch = plan.switches.get(name)
    if switch is None:
        raise RenderError(f"{name}: no such switch in the plan; it has {', '.join(sorted(plan.switches, key=natural))}")
    ports = tuple(sorted(switch.ports.values(), key=lambda port: natural(port.name)))
    fabric = tuple(port for port in ports if port.use in _FABRIC_USES)
    wanted = plan.qos.lossless
    lossless = frozenset(
        port.name for port in fabric if wanted and port.lossless and port.state is not LifeState.PLANNED
    )
    reserved = frozenset(port.name for port in fabric if lossless and port.state is LifeState.PLANNED)
    buffers = plan.buffers.get(switch.platform)
    if buffers is None and (lossless or (wanted and fabric and switch.network is Network.COMPUTE)):
        # Not left to a note: hosts would send pause frames to switches that drop.
        raise RenderError(
            f"{name}: no buffer figures are published for {switch.platform}, so the lossless class that is asked for "
            "cannot be made on it; name a platform of the same ASIC in `buffers_from`, or do without: "
            "`qos: {lossless: false}` in the intent, or --lossy"
        )
    return Scope(plan, switch, templates, release(plan.release), ports, fabric, lossless, reserved, buffers)
