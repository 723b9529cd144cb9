"""A containerlab topology: SONiC containers for the switches, Linux containers for the hosts.

sonic-vs names its data interfaces eth1, eth2, ... in the order of its ports, so each end says in a comment which
port of the plan it stands for. Images are taken from the environment, with containerlab's own expansion.
"""

from __future__ import annotations

import json
from collections import defaultdict

from fabric.cabling.rows import natural
from fabric.errors import InputError, Problem
from fabric.values.plan import Plan

# A laptop-sized tool: beyond this nobody means it.
MAX_NODES = 500
SONIC_IMAGE = "${RAILFAB_SONIC_IMAGE:=docker-sonic-vs:latest}"
HOST_IMAGE = "${RAILFAB_HOST_IMAGE:=alpine:3}"


def containerlab(plan: Plan) -> str:
    """The .clab.yml text. InputError for a fabric that is too large to run on one machine."""
    cabled = {device for cable in plan.cables.values() for device in (cable.a_device, cable.b_device)}
    nodes = [name for name in (*plan.switches, *plan.hosts) if name in cabled]
    if len(nodes) > MAX_NODES:
        raise InputError(
            Problem(
                f"{len(nodes)} nodes are too many for containerlab (at most {MAX_NODES})", "use --pod N, or railfab lab"
            )
        )
    names: dict[str, dict[str, str]] = defaultdict(dict)
    ends = sorted(
        {end for c in plan.cables.values() for end in ((c.a_device, c.a_port), (c.b_device, c.b_port))},
        key=lambda end: (natural(end[0]), natural(end[1])),
    )
    for device, port in ends:
        names[device][port] = f"eth{len(names[device]) + 1}"
    lines = [f"name: {json.dumps(plan.name)}", "topology:", "  kinds:"]
    lines += ["    sonic-vs:", f"      image: {SONIC_IMAGE}", "    linux:", f"      image: {HOST_IMAGE}", "  nodes:"]
    for name in nodes:
        switch = plan.switches.get(name)
        kind = "sonic-vs" if switch else "linux"
        group = switch.role.value if switch else "host"
        lines += [f"    {json.dumps(name)}:", f"      kind: {kind}", f"      group: {group}"]
    lines.append("  links:")
    for cable in plan.cables.values():
        a = f"{cable.a_device}:{names[cable.a_device][cable.a_port]}"
        b = f"{cable.b_device}:{names[cable.b_device][cable.b_port]}"
        lines.append(f"    - endpoints: [{json.dumps(a)}, {json.dumps(b)}] # {cable.name}")
    return "\n".join([*lines, ""])
