"""How long `railfab design` takes, beside the floor of building the same graph in plain NetworkX.

    python benchmarks/design.py [NAME...]        names of topology/*.yaml, default: sakuraone gpu8192 gpu98304

Each line is a process of its own: wall time, CPU time and peak memory of the whole command (interpreter start,
intent, allocation, all design rules), then the same for a process that only adds the devices and cables of the same
fabric to a networkx.MultiGraph. The ratio is what to watch: it does not depend on the machine much.
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

TREE = Path(__file__).resolve().parent.parent
COMMAND = "import sys; from fabric.cli.entry import main; main()"
# Reads edges that were written beforehand, so that only NetworkX is timed.
FLOOR = """
import json, sys, time
data = json.load(open(sys.argv[1]))
import networkx as nx
start = time.process_time()
graph = nx.MultiGraph()
graph.add_nodes_from((name, {"role": role}) for name, role in data["nodes"])
graph.add_edges_from((a, b, {"speed": speed}) for a, b, speed in data["edges"])
print(time.process_time() - start, graph.number_of_nodes(), graph.number_of_edges())
"""


def measured(command: list[str]) -> tuple[float, float, float, str]:
    """Wall seconds, CPU seconds, peak MiB and output of one process."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=TREE)
    assert child.stdout is not None
    out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if child.returncode not in (0, 1):
        raise SystemExit(f"{command[-1]}: exit {child.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out


def edges_of(intent: Path, into: Path) -> None:
    """Write the devices and cables of a fabric as JSON for the floor."""
    from fabric.allocate import load_plan

    plan = load_plan(intent, state=into.parent)
    nodes = [(s.name, s.role.value) for s in plan.switches.values()] + [(h, "host") for h in plan.hosts]
    edges = [(c.a_device, c.b_device, c.speed_mbps) for c in plan.cables.values()]
    into.write_text(json.dumps({"nodes": nodes, "edges": edges}))


def main(names: list[str]) -> None:
    """Print one line a fabric."""
    print(f"{'fabric':<12}{'wall s':>9}{'CPU s':>9}{'MiB':>8}   floor: {'CPU s':>8}{'devices':>9}{'cables':>9}   ratio")
    for name in names:
        intent = TREE / "topology" / f"{name}.yaml"
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", COMMAND, "design", str(intent), "--json", "--state", folder]
            wall, cpu, memory, _ = measured(command)
            graph = Path(folder) / "graph.json"
            pid = os.fork()
            if pid == 0:
                edges_of(intent, graph)
                os._exit(0)
            os.waitpid(pid, 0)
            _, _, _, out = measured([sys.executable, "-c", FLOOR, str(graph)])
        floor, nodes, edges = out.split()
        floor_cpu = float(floor)
        mine = f"{name:<12}{wall:>9.2f}{cpu:>9.2f}{memory:>8.0f}"
        print(f"{mine}   floor: {floor_cpu:>8.3f}{nodes:>9}{edges:>9}{cpu / floor_cpu:>8.1f}")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main(sys.argv[1:] or ["sakuraone", "gpu8192", "gpu98304"])
