"""CPU, memory and bytes of `railfab render` at 24, 240 and 3,840 switches, beside the floor.

    python benchmarks/render.py [--sizes 24,240] [--rounds 5]

CPU is user and system time of the whole process (it has no children), best of the rounds; the floor is a process that
only imports networkx, jinja2, yaml and pydantic, measured in the same run. Memory is the process's largest resident
set. Each round writes into an empty folder, with a ledger that is not there yet: the worst case. Where pyavd or annet
is installed its own import is shown beside, and nothing more is claimed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

FLOOR = "import networkx, jinja2, yaml, pydantic"
_VERB = "import sys; from fabric.cli.entry import main; main(['render', *sys.argv[1:]])"
# switches -> (seconds, MiB): what the project has set itself. CPU seconds above the floor, but wall at 3,840.
TARGETS = {24: (0.35, 80), 240: (3.0, 200), 3840: (60.0, 1024)}

_THREE_TIERS = """name: bench
release: "202505"
buffers_from: dell-z9864f
classes: {{h100: {{nics: 8, speed: 400G}}}}
management: {{network: 172.16.0.0/12, switches: 172.30.0.0/16, hosts: 172.24.0.0/14}}
compute:
  rails: 8
  places: 64
  leaf: {{platform: accton-as9817-64o}}
  spine: {{platform: accton-as9817-64o, count: 8, links: 4, speed: 800G}}
  superspine: {{platform: accton-as9817-64o, count: {superspines}, groups: 8, uplinks: 32, speed: 800G, length_m: 40}}
  pods:
    - {{count: {pods}, nodes: 64}}
"""


@dataclass(frozen=True)
class Cost:
    """One run of a process: CPU and wall seconds, MiB resident."""

    cpu_s: float
    wall_s: float
    mib: float


def cost(command: list[str]) -> Cost:
    """Run a command to its end and account for it."""
    began = time.perf_counter()
    silent = os.open(os.devnull, os.O_WRONLY)
    pid = os.posix_spawn(command[0], command, dict(os.environ), file_actions=[(os.POSIX_SPAWN_DUP2, silent, 1)])
    _, status, used = os.wait4(pid, 0)
    os.close(silent)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with status {os.waitstatus_to_exitcode(status)}")
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss / 1024)


def intent(size: int, folder: Path) -> Path:
    """An intent with so many compute switches; 24 is sakuraone's, with its two storage switches and all its hosts."""
    file = folder / "bench.yaml"
    if size == 24:
        file.write_text((Path(__file__).parents[1] / "topology/sakuraone.yaml").read_text())
    else:
        pods = size // 20
        file.write_text(_THREE_TIERS.format(pods=pods, superspines=4 * pods))
    return file


def measure(size: int, rounds: int, floor: float) -> str:
    """One line of the table."""
    best: Cost | None = None
    written = 0
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            out = folder / "out"
            now = cost([sys.executable, "-c", _VERB, str(intent(size, folder)), "-o", str(out)])
            written = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
            shutil.rmtree(out)
        best = now if best is None or now.cpu_s < best.cpu_s else best
    assert best is not None
    above = best.cpu_s - floor
    allowed, mib = TARGETS[size]
    verdict = "within" if (above if size < 1000 else best.wall_s) <= allowed and best.mib <= mib else "ABOVE"
    return (
        f"{size:6} switches  CPU {best.cpu_s:7.2f} s, {above:6.2f} above the floor, wall {best.wall_s:6.1f} s "
        f"(target {allowed})  {best.mib:5.0f} MiB (target {mib})  {written / 1e6:7.1f} MB written  {verdict}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="24,240", help="of 24, 240, 3840")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    floor = min(cost([sys.executable, "-c", FLOOR]).cpu_s for _ in range(arguments.rounds))
    print(f"floor: {FLOOR}: {floor:.2f} s CPU; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for peer in ("annet", "pyavd"):
        if importlib.util.find_spec(peer):
            print(f"{peer}: import alone {cost([sys.executable, '-c', f'import {peer}']).cpu_s:.2f} s CPU")
    for size in (int(text) for text in arguments.sizes.split(",")):
        print(measure(size, arguments.rounds if size < 1000 else 1, floor), flush=True)


if __name__ == "__main__":
    main()
