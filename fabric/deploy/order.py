"""What a push of one switch is told, and how long each step may take."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

from fabric.change.compute import effective
from fabric.values.change import DeviceChange
from fabric.values.device_config import DeviceConfig
from fabric.values.plan import Plan


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds each kind of step may take. A patch of many ports takes minutes (sonic.md 4.4)."""

    open: float = 20.0
    read: float = 60.0
    step: float = 60.0
    patch: float = 900.0
    reload: float = 900.0
    ready: float = 300.0
    read_back: float = 20.0
    drain: float = 180.0
    # The switch undoes the run by itself this long after it was armed, unless confirmed.
    confirm: int = 1800
    away: float = 180.0

    def scaled(self, factor: float) -> Deadlines:
        """All of them longer (a slow switch) or shorter; the timer on the switch stays."""
        values = {one.name: getattr(self, one.name) * factor for one in fields(self) if one.name != "confirm"}
        return replace(self, **values)

    @property
    def to_change(self) -> float:
        """Until the changes of a batch are made: the rest of `confirm` is for undoing, judging and keeping."""
        return self.confirm * 0.6

    @property
    def to_undo(self) -> float:
        """Until those that went wrong are put back, while those that went well wait to be confirmed."""
        return self.confirm * 0.75

    @property
    def to_judge(self) -> float:
        """Until the fabric's health must be known: what is left is for the confirmation."""
        return self.confirm * 0.9

    @property
    def grace(self) -> float:
        """How long putting back may take after the run's own time is over."""
        return self.reload + self.ready

    @property
    def out_of_reach(self) -> float:
        """How long to wait for a switch that is out of reach: no longer than until it has put itself back."""
        return min(self.away, self.confirm + 30.0)


@dataclass(frozen=True, slots=True)
class Order:
    """What a push was told: the change of one switch, the configuration it leads to, and how careful to be.

    `new_password` replaces the factory's on a new box. Without a `plan` nobody knows what the box should be cabled
    like, so its identity is not judged and it is not drained.
    """

    run_id: str
    owner: str
    plan: Plan | None
    change: DeviceChange
    desired: DeviceConfig
    deadlines: Deadlines = field(default_factory=Deadlines)
    break_lock: bool = False
    commit_confirm: bool = True
    drain: bool = False
    user: str = "admin"
    new_password: str | None = field(default=None, repr=False)


def order_for(
    change: DeviceChange, desired: DeviceConfig, plan: Plan, run_id: str, owner: str, **more: object
) -> Order:
    """The order of one switch: what was planned, with what is held left as it is."""
    return Order(run_id, owner, plan, change, effective(desired, change), **more)  # type: ignore[arg-type]
