"""The model: what switches, hosts and links an intent asks for, and the graph's questions over a Plan.

`build(IntentFile) -> Fabric` says what is wanted (no addresses, no ports); `fabric.allocate` makes the Plan of it;
`fabric.model.graph.graph_of(plan)` is the NetworkX graph, `fabric.model.paths` the equal-cost next hops.
"""

from __future__ import annotations

from fabric.model.fabric import Fabric, HostGroup, Mesh, PodShape, SwitchGroup, SwitchNode, build

__all__ = ["Fabric", "HostGroup", "Mesh", "PodShape", "SwitchGroup", "SwitchNode", "build"]
