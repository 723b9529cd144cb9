"""How long judging a snapshot takes: whole fabrics, healthy and with faults, and cabling alone with swaps and grouping.

    python benchmarks/check.py [--roce] [NAME...]         names of topology/*.yaml, default: sakuraone gpu8192 gpu98304

Each line is a process of its own. The Plan and the synthetic snapshots are made first and not counted; `judge` is
`run_checks` with a baseline (wall and CPU seconds), `peak` the whole process with the Plan and what was judged in
memory. Above 1,000 switches there is no baseline: the generator keeps one time of such a fabric.
`--roce` judges RoCE health too, on the queues, groups and configuration the generator makes for it.
`one link` judges again only the two switches of one cable that went down.
Cables a second are those of the cabling check alone on a fabric where every hundredth cable is swapped with the next.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TREE = Path(__file__).resolve().parent.parent
_CHECKS = ("cabling", "links", "bgp", "ecmp", *(("roce",) if "--roce" in sys.argv else ()))


def judge(name: str) -> dict[str, Any]:
    """Measure one intent in this process."""
    from fabric.allocate import load_plan
    from fabric.checks import run_checks
    from fabric.render import render_switch
    from fabric.values.finding import Place
    from fabric.values.plan import LifeState
    from fabric.whatif.faults import BgpdDown, Cut, Dead, Replug
    from fabric.whatif.synthetic import Synthetic

    with tempfile.TemporaryDirectory() as state:
        plan = load_plan(TREE / "topology" / f"{name}.yaml", state=Path(state))
    fabric = Synthetic(plan, config=(lambda name: render_switch(plan, name)) if "roce" in _CHECKS else None)
    small = len(plan.switches) < 1000
    # A fabric of thousands of switches is kept in memory for one time only.
    baseline = fabric.snapshot(at=1_790_000_000.0 - 60) if small else None
    healthy = fabric.snapshot()
    result: dict[str, Any] = {"name": name, "switches": len(plan.switches), "cables": len(plan.cables)}

    def timed(snapshot: Any, only: tuple[str, ...]) -> tuple[float, float, Any]:
        start, cpu = time.perf_counter(), time.process_time()
        report = run_checks(plan, snapshot, baseline=baseline, window_s=60, only=only)
        return time.perf_counter() - start, time.process_time() - cpu, report

    wall, cpu, report = timed(healthy, _CHECKS)
    # The large intents have cable lengths that no published table has, which RoCE's checks rightly say.
    assert not report.findings or "roce" in _CHECKS, report.findings[0]
    result |= {"healthy_s": wall, "healthy_cpu_s": cpu, "checks": report.summary.passed}
    result["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    del healthy
    leaf = next(switch for switch in plan.switches.values() if switch.role.value == "leaf")
    uplink = next(port for port in leaf.ports.values() if port.peer_asn is not None)
    hosts = list(plan.hosts)
    faults: list[Any] = [
        Cut(Place(leaf.name, uplink.name)),
        Dead(hosts[1]),
        BgpdDown([name for name, switch in plan.switches.items() if switch.role.value == "spine"][-1]),
    ]
    broken = fabric.snapshot(faults)
    wall, cpu, report = timed(broken, _CHECKS)
    result |= {"faults_s": wall, "faults_cpu_s": cpu, "findings": len(report.findings)}
    cut = fabric.snapshot([Cut(Place(leaf.name, uplink.name))])
    cpu = time.process_time()
    run_checks(plan, cut, only=_CHECKS, scope={leaf.name, uplink.peer_device or ""})
    result["one_link_cpu_s"] = time.process_time() - cpu
    plugs = [
        Place(cable.b_device, cable.b_port) if cable.b_device in plan.hosts else Place(cable.a_device, cable.a_port)
        for cable in plan.cables.values()
        if cable.state is LifeState.IN_SERVICE and {cable.a_device, cable.b_device} & plan.hosts.keys()
    ]
    moves: dict[Place, Place] = {}
    for index in range(0, len(plugs) - 50, 100):
        moves |= {plugs[index]: plugs[index + 50], plugs[index + 50]: plugs[index]}
    wall, cpu, report = timed(fabric.snapshot([Replug(moves)]), ("cabling",))
    moved = sum(len(finding.moves) for finding in report.findings)
    assert moved == len(moves), (moved, len(moves))
    result |= {"swapped_s": wall, "swapped_cpu_s": cpu, "swaps": len(report.findings)}
    return result


def main(names: list[str]) -> None:
    """Measure each intent in a process of its own and print a table."""
    print("intent       switches  cables judge s  cpu s  checks/s faults s one link s swapped cables/s peak MiB")
    for name in names:
        done = subprocess.run(
            [sys.executable, __file__, "--one", name, *[word for word in sys.argv if word == "--roce"]],
            cwd=TREE, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": str(TREE)},
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(done.stderr)
        row = json.loads(done.stdout)
        checks_s = row["checks"] / row["healthy_cpu_s"]
        cables_s = row["cables"] / row["swapped_cpu_s"]
        print(
            f"{name:12} {row['switches']:8} {row['cables']:7} {row['healthy_s']:7.2f} {row['healthy_cpu_s']:6.2f} "
            f"{checks_s:9,.0f} {row['faults_cpu_s']:8.2f} {row['one_link_cpu_s']:10.3f} {cables_s:16,.0f} "
            f"{row['peak_mib']:8,.0f}"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(judge(sys.argv[2])))
    else:
        main([name for name in sys.argv[1:] if name != "--roce"] or ["sakuraone", "gpu8192", "gpu98304"])
