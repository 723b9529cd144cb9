"""The NetworkX graph of a Plan.

A MultiGraph: nodes are devices, edges are cables (key: the cable's name), so parallel cables are parallel edges.

Node attributes: `kind` (`switch` or `host`), `role` (leaf, spine, superspine, storage, host), `network`, `pod`,
`rail`, `plane`, `segment`, `place` (hosts), `host_class` (hosts), `platform` (switches), `state`, `rack`, `unit`; None
where one does not apply.

Edge attributes: `kind` (`host` or `fabric`), `network`, `speed_mbps`, `length_m`, `state`, `rail`, `pod`, `plane`,
`parallel`, `ends` (mapping device -> port or NIC name).

Reserve places have no cable, so they are nodes without edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx

from fabric.values.plan import Plan

if TYPE_CHECKING:
    Graph = nx.MultiGraph[str]


def graph_of(plan: Plan) -> Graph:
    """Make the graph. It is the caller's: changing it changes nothing else."""
    graph: Graph = nx.MultiGraph(name=plan.name)
    graph.add_nodes_from(
        (
            switch.name,
            {
                "kind": "switch",
                "role": switch.role.value,
                "network": switch.network.value,
                "pod": switch.pod,
                "rail": switch.rail,
                "plane": switch.plane,
                "segment": switch.segment,
                "place": None,
                "host_class": None,
                "platform": switch.platform,
                "state": switch.state.value,
                "rack": switch.rack,
                "unit": switch.unit,
            },
        )
        for switch in plan.switches.values()
    )
    graph.add_nodes_from(
        (
            host.name,
            {
                "kind": "host",
                "role": "host",
                "network": None,
                "pod": host.pod,
                "rail": None,
                "plane": None,
                "segment": None,
                "place": host.place,
                "host_class": host.host_class,
                "platform": None,
                "state": host.state.value,
                "rack": host.rack,
                "unit": host.unit,
            },
        )
        for host in plan.hosts.values()
    )
    # The stubs do not know edges with a key and attributes, which MultiGraph takes.
    graph.add_edges_from(
        (  # type: ignore[misc]
            cable.a_device,
            cable.b_device,
            cable.name,
            {
                "kind": cable.kind.value,
                "network": cable.network.value,
                "speed_mbps": cable.speed_mbps,
                "length_m": cable.length_m,
                "state": cable.state.value,
                "rail": cable.rail,
                "pod": cable.pod,
                "plane": cable.plane,
                "parallel": cable.parallel,
                "ends": {cable.a_device: cable.a_port, cable.b_device: cable.b_port},
            },
        )
        for cable in plan.cables.values()
    )
    return graph
