"""The whole road on a twin: up, plan, apply, check, reading against the floor, down; with the fall of MemAvailable.

    python benchmarks/twin.py [INTENT]           default: topology/sakuraone.yaml

Works on a copy of the intent in a folder of its own and takes the twin down whatever happens. Run it on a quiet
machine: it prints the load average it found.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TREE = Path(__file__).parents[1]
RAILFAB = [sys.executable, "-c", "from fabric.cli.entry import main; main()"]


def available_mib() -> float:
    """MemAvailable of the machine, MiB."""
    line = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    return int(line.split()[1]) / 1024


class Lowest:
    """The lowest MemAvailable while it runs, MiB."""

    def __init__(self) -> None:
        self.mib = available_mib()
        self._over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self._over.wait(0.5):
            self.mib = min(self.mib, available_mib())

    def end(self) -> float:
        self._over.set()
        return self.mib


def step(name: str, *words: str, expect: int = 0) -> float:
    began = time.perf_counter()
    done = subprocess.run(
        [*RAILFAB, *words], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(TREE)}
    )
    took = time.perf_counter() - began
    last = (done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or [""])[-1]
    print(f"  {name:6} {took:6.1f} s   {last[:100]}", flush=True)
    if done.returncode != expect:
        raise SystemExit(f"{name}: exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return took


def main(given: Path) -> None:
    print(f"{given.name}: load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(prefix="railfab-twin-") as folder:
        intent = Path(folder) / given.name
        shutil.copy(given, intent)
        before, lowest = available_mib(), Lowest()
        inside = ("lab", "exec", str(intent), "--", *RAILFAB)
        try:
            total = step("up", "lab", "up", str(intent))
            total += step("plan", *inside, "plan", str(intent), "-o", f"{folder}/plan.json")
            total += step("apply", *inside, "apply", f"{folder}/plan.json", "--yes", "-q")
            total += step("check", *inside, "check", str(intent))
            print(f"  {'':6} {total:6.1f} s   in all; {before - lowest.end():,.0f} MiB less memory available")
            reach = [*RAILFAB, *inside[:4], sys.executable, str(TREE / "benchmarks" / "reach.py"), str(intent)]
            subprocess.run(reach, env={**os.environ, "PYTHONPATH": str(TREE)}, check=True)
        finally:
            step("down", "lab", "down", str(intent))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else TREE / "topology" / "sakuraone.yaml")
