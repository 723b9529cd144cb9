"""What a scheduler must know of the fabric: Slurm's topology.conf (tree) and topology.yaml (25.05 and later).

A Slurm tree has one parent a node, a rail-optimized host has eight leaves. What matters for a job is where its
traffic meets: the leaves of one segment together are one leaf of the tree, a pod the next, the spines the top.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from fabric.draw.scene import fold_names
from fabric.values.plan import LifeState, Network, Plan

# topology.yaml(5): names of switches cannot be longer.
_MAX_NAME = 64


def slurm_conf(plan: Plan) -> str:
    """topology.conf for TopologyPlugin=topology/tree."""
    lines = [f"# {plan.name}: hosts whose rails share leaves stand under one switch"]
    for name, children, leaf in _tree(plan):
        lines.append(f"SwitchName={name} {'Nodes' if leaf else 'Switches'}={children}")
    return "\n".join([*lines, ""])


def slurm_yaml(plan: Plan) -> str:
    """topology.yaml with one tree topology."""
    lines = [
        f"# {plan.name}: hosts whose rails share leaves stand under one switch",
        f"- topology: {plan.name}",
        "  cluster_default: true",
        "  tree:",
        "    switches:",
    ]
    for name, children, leaf in _tree(plan):
        lines += [f"      - switch: {name}", f'        {"nodes" if leaf else "children"}: "{children}"']
    return "\n".join([*lines, ""])


def _tree(plan: Plan) -> Iterator[tuple[str, str, bool]]:
    """Switches of the tree, leaves first: (name, folded children, whether the children are nodes).

    Hosts that a job can use: reserve places that were never used, and storage servers, have no place in it.
    """
    segments: dict[tuple[int, int], list[str]] = defaultdict(list)
    for host in plan.hosts.values():
        if host.state is LifeState.PLANNED and host.reserve:
            continue
        home = next((plan.switches[nic.switch] for nic in host.nics.values() if nic.network is Network.COMPUTE), None)
        if home is not None:
            segments[(home.pod or host.pod, home.segment or 0)].append(host.name)
    pods: dict[int, list[str]] = defaultdict(list)
    several = len({segment for _, segment in segments}) > 1
    for (pod, segment), hosts in sorted(segments.items()):
        name = f"p{pod}-g{segment}" if several else f"p{pod}"
        pods[pod].append(name)
        yield name[:_MAX_NAME], fold_names(hosts), True
    if several:
        for pod, children in sorted(pods.items()):
            yield f"p{pod}", fold_names(children), False
    if len(pods) > 1:
        yield f"fabric-{plan.name}"[:_MAX_NAME], fold_names(f"p{pod}" for pod in sorted(pods)), False
