"""Which drawing a file name asks for, and writing it whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from fabric.errors import InputError, Problem
from fabric.files import write_whole
from fabric.values.plan import Plan


def _svg(plan: Plan, pod: int | None) -> str:
    from fabric.draw.scene import scene_of
    from fabric.draw.svg import svg

    return svg(scene_of(plan, pod))


def _html(plan: Plan, pod: int | None) -> str:
    from fabric.draw.html import html
    from fabric.draw.scene import scene_of

    return html(scene_of(plan, pod))


def _dot(plan: Plan, pod: int | None) -> str:
    from fabric.draw.graphs import dot

    return dot(of_pod(plan, pod))


def _graphml(plan: Plan, pod: int | None) -> str:
    from fabric.draw.graphs import graphml

    return graphml(of_pod(plan, pod))


def _clab(plan: Plan, pod: int | None) -> str:
    from fabric.draw.containerlab import containerlab

    return containerlab(of_pod(plan, pod))


def _slurm_conf(plan: Plan, pod: int | None) -> str:
    from fabric.draw.schedulers import slurm_conf

    return slurm_conf(of_pod(plan, pod))


def _slurm_yaml(plan: Plan, pod: int | None) -> str:
    from fabric.draw.schedulers import slurm_yaml

    return slurm_yaml(of_pod(plan, pod))


# ending of the file name -> writer; the longest ending that fits wins
KINDS: Mapping[str, Callable[[Plan, int | None], str]] = {
    ".svg": _svg,
    ".html": _html,
    ".dot": _dot,
    ".graphml": _graphml,
    ".clab.yml": _clab,
    ".clab.yaml": _clab,
    "topology.conf": _slurm_conf,
    "topology.yaml": _slurm_yaml,
}


def draw(plan: Plan, name: str, pod: int | None = None) -> str:
    """Text of the drawing that a file of this name holds. InputError lists the endings there are."""
    fitting = [ending for ending in KINDS if name.endswith(ending)]
    if not fitting:
        raise InputError(Problem(f"{name!r} is no drawing we make", f"end the file name in {', '.join(KINDS)}"))
    if pod is not None and not any(switch.pod == pod for switch in plan.switches.values()):
        pods = sorted({switch.pod for switch in plan.switches.values() if switch.pod is not None})
        raise InputError(Problem(f"{plan.name} has no pod {pod}", f"pods are {pods[0]} to {pods[-1]}" if pods else ""))
    return KINDS[max(fitting, key=len)](plan, pod)


def write_drawing(plan: Plan, path: Path, pod: int | None = None) -> None:
    """Write the drawing to `path` in one step."""
    write_whole(path, draw(plan, path.name, pod))


def of_pod(plan: Plan, pod: int | None) -> Plan:
    """The part of a Plan that one pod's hosts and leaves are cabled to; the whole Plan when `pod` is None."""
    if pod is None:
        return plan
    inner = {name for name, host in plan.hosts.items() if host.pod == pod}
    inner |= {name for name, switch in plan.switches.items() if switch.pod == pod}
    cables = {name: cable for name, cable in plan.cables.items() if cable.a_device in inner or cable.b_device in inner}
    kept = inner | {device for cable in cables.values() for device in (cable.a_device, cable.b_device)}
    return replace(
        plan,
        switches={name: switch for name, switch in plan.switches.items() if name in kept},
        hosts={name: host for name, host in plan.hosts.items() if name in inner},
        cables={name: cable for name, cable in cables.items() if cable.a_device in kept and cable.b_device in kept},
    )
