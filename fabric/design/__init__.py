"""Design rules and capacity of a fabric, judged on the Plan alone: no device is involved."""

from fabric.design.capacity import Capacity, TierCapacity
from fabric.design.judge import DesignReport, judge

__all__ = ["Capacity", "DesignReport", "TierCapacity", "judge"]
