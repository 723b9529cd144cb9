"""The whole chain at size, each size in a process of its own: counts, ledger, memory. Times: `benchmarks/design.py`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_CODE = """
import json, sys
from pathlib import Path
from fabric.allocate.ledger import dump, read
from fabric.allocate.load import load_all
from fabric.model.paths import expected_next_hops
loaded = load_all(Path(sys.argv[1]), state=Path(sys.argv[2]))
# Not ru_maxrss: that survives exec, so it would be our parent's.
memory = next(int(row.split()[1]) for row in open("/proc/self/status") if row.startswith("VmHWM")) // 1024
plan = loaded.plan
file = Path(sys.argv[2]) / "x.yaml"
file.write_text(dump(loaded.ledger))
again = read(file)
hops = expected_next_hops(plan)
leaf = next(name for name in plan.switches if "-l" in name)
widths = sorted({len(ports) for ports in hops.groups(leaf)})
for name in plan.switches:
    hops.ports(name, leaf)
print(json.dumps({
    "memory": memory, "switches": len(plan.switches), "hosts": len(plan.hosts),
    "cables": len(plan.cables), "ledger": file.stat().st_size, "same": again == loaded.ledger,
    "widths": widths,
}))
"""


@pytest.mark.parametrize(
    ("name", "counts", "memory", "widths"),
    [
        pytest.param("sakuraone", (26, 132, 1528), 200, [4, 32], id="sakuraone"),
        pytest.param("gpu8192", (192, 1024, 16384), 300, [1, 64], id="8192"),
        pytest.param("gpu32768", (1280, 4096, 98304), 800, [1, 16, 64], id="32768"),
        pytest.param("gpu98304", (3840, 12288, 294912), 2048, [1, 64], id="98304", marks=pytest.mark.slow),
    ],
)
def test_within_budget(
    tree: Path,
    tmp_path: Path,
    name: str,
    counts: tuple[int, int, int],
    memory: int,
    widths: list[int],
) -> None:
    command = [sys.executable, "-c", _CODE, str(tree / "topology" / f"{name}.yaml"), str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tree)
    seen = json.loads(done.stdout)
    assert (seen["switches"], seen["hosts"], seen["cables"]) == counts
    assert seen["memory"] < memory
    assert seen["ledger"] < 5_000_000
    assert seen["same"]
    assert seen["widths"] == widths
