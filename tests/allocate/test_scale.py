"""Time and memory of the whole chain, each size in a process of its own (CPU seconds: the machine may be busy)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_CODE = """
import json, resource, sys, time
from pathlib import Path
from fabric.allocate.ledger import dump, read
from fabric.allocate.load import load_all
from fabric.model.paths import expected_next_hops
loaded = load_all(Path(sys.argv[1]), state=Path(sys.argv[2]))
seconds = time.process_time()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
plan = loaded.plan
file = Path(sys.argv[2]) / "x.yaml"
file.write_text(dump(loaded.ledger))
began = time.process_time()
again = read(file)
reading = time.process_time() - began
began = time.process_time()
hops = expected_next_hops(plan)
leaf = next(name for name in plan.switches if "-l" in name)
widths = sorted({len(ports) for ports in hops.groups(leaf)})
for name in plan.switches:
    hops.ports(name, leaf)
paths = time.process_time() - began
print(json.dumps({
    "seconds": seconds, "memory": memory, "switches": len(plan.switches), "hosts": len(plan.hosts),
    "cables": len(plan.cables), "ledger": file.stat().st_size, "same": again == loaded.ledger, "reading": reading,
    "widths": widths, "paths": paths,
}))
"""


@pytest.mark.parametrize(
    ("name", "counts", "seconds", "memory", "widths"),
    [
        pytest.param("sakuraone", (26, 132, 1528), 2.0, 200, [4, 32], id="sakuraone"),
        pytest.param("gpu8192", (192, 1024, 16384), 4.0, 300, [1, 64], id="8192"),
        pytest.param("gpu32768", (1280, 4096, 98304), 20.0, 800, [1, 16, 64], id="32768"),
        pytest.param("gpu98304", (3840, 12288, 294912), 40.0, 2048, [1, 64], id="98304", marks=pytest.mark.slow),
    ],
)
def test_within_budget(
    tree: Path,
    tmp_path: Path,
    name: str,
    counts: tuple[int, int, int],
    seconds: float,
    memory: int,
    widths: list[int],
) -> None:
    """Budgets are the goals on a quiet machine or above; a breach of twice what is usual is what they catch."""
    command = [sys.executable, "-c", _CODE, str(tree / "topology" / f"{name}.yaml"), str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tree)
    seen = json.loads(done.stdout)
    assert (seen["switches"], seen["hosts"], seen["cables"]) == counts
    assert seen["seconds"] < seconds
    assert seen["memory"] < memory
    assert seen["ledger"] < 5_000_000
    assert seen["same"]
    assert seen["reading"] < 2.0
    assert seen["widths"] == widths
    assert seen["paths"] < 20.0
