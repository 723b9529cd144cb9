"""Allocation: a Fabric and its ledger -> the Plan, stable when the fabric grows."""

from __future__ import annotations

from fabric.allocate.load import Loaded, allocate, load_all, load_plan

__all__ = ["Loaded", "allocate", "load_all", "load_plan"]
