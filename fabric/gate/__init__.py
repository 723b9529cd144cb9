"""Go or no-go for a job's nodes, and the record the Slurm prolog reads."""

from __future__ import annotations

from fabric.gate.judge import by_node, gate_document, judge
from fabric.gate.nodes import expand
from fabric.gate.record import record, write_record

__all__ = ["by_node", "expand", "gate_document", "judge", "record", "write_record"]
