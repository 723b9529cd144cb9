"""The fabric as a graph for other tools: DOT (Graphviz) and GraphML (Gephi, yEd, NetworkX)."""

from __future__ import annotations

import io
from collections import Counter, defaultdict

from fabric.cabling.labels import RAIL_COLOURS
from fabric.cabling.write import quoted
from fabric.values.plan import Network, Plan, Role

_RANKS = (Role.SUPERSPINE, Role.SPINE, Role.LEAF)


def dot(plan: Plan) -> str:
    """Graphviz: tiers as ranks, one edge a pair of devices with the number of its cables."""
    lines = [f"graph {quoted(plan.name)} {{", "  rankdir=TB; node [shape=box, fontname=sans]; edge [fontname=sans];"]
    tiers: dict[Role, list[str]] = defaultdict(list)
    for switch in plan.switches.values():
        tiers[switch.role].append(switch.name)
        shade = _shade(switch.rail)
        lines.append(f"  {quoted(switch.name)} [color={quoted(shade)}, tooltip={quoted(switch.hwsku)}];")
    for host in plan.hosts.values():
        style = ", style=dashed" if host.reserve else ""
        lines.append(f"  {quoted(host.name)} [shape=ellipse{style}];")
    for role in _RANKS:
        if tiers[role]:
            lines.append(f"  {{ rank=same; {' '.join(quoted(name) + ';' for name in tiers[role])} }}")
    pairs = Counter((c.b_device, c.a_device, c.speed_mbps, c.rail) for c in plan.cables.values())
    for (upper, lower, mbps, rail), count in pairs.items():
        if lower in plan.switches and upper not in plan.switches:
            upper, lower = lower, upper
        lines.append(
            f"  {quoted(upper)} -- {quoted(lower)} [label={quoted(f'{count} x {mbps // 1000}G')}, "
            f"color={quoted(_shade(rail))}];"
        )
    return "\n".join([*lines, "}", ""])


def graphml(plan: Plan) -> str:
    """GraphML: one node a device, one edge a cable, with everything that says which is which."""
    import networkx as nx

    graph: nx.MultiGraph[str] = nx.MultiGraph(name=plan.name)
    for switch in plan.switches.values():
        graph.add_node(
            switch.name,
            **_known(
                kind="switch",
                role=switch.role.value,
                network=switch.network.value,
                platform=switch.platform,
                pod=switch.pod,
                rail=switch.rail,
                plane=switch.plane,
                asn=switch.asn,
                state=switch.state.value,
                rack=switch.rack,
            ),
        )
    for host in plan.hosts.values():
        graph.add_node(
            host.name,
            **_known(
                kind="host",
                role="host",
                pod=host.pod,
                place=host.place,
                host_class=host.host_class,
                state=host.state.value,
                reserve=host.reserve,
                rack=host.rack,
            ),
        )
    for cable in plan.cables.values():
        graph.add_edge(
            cable.a_device,
            cable.b_device,
            key=cable.name,
            **_known(
                a_port=cable.a_port,
                b_port=cable.b_port,
                kind=cable.kind.value,
                network=(cable.network or Network.COMPUTE).value,
                speed_mbps=cable.speed_mbps,
                length_m=cable.length_m,
                rail=cable.rail,
                plane=cable.plane,
                parallel=cable.parallel,
                state=cable.state.value,
            ),
        )
    out = io.BytesIO()
    nx.write_graphml(graph, out, named_key_ids=True)
    return out.getvalue().decode() + "\n"


def _known(**fields: object) -> dict[str, object]:
    """GraphML has no null: what is absent has no attribute."""
    return {name: value for name, value in fields.items() if value is not None}


def _shade(rail: int | None) -> str:
    return "#6b7280" if rail is None else RAIL_COLOURS[rail % len(RAIL_COLOURS)]
