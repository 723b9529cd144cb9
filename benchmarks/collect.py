"""How long a full 64x800G-sized switch is held by collecting, how much it sends, and how long reading that takes.

    python benchmarks/collect.py [--rounds 5]

Redis is real, filled as tests/collect/big.py says (128 ports of a broken-out 64x800G box, 20 queues a port, 6,000
routes of 32 next hops in APPL_DB and ASIC_DB, all TRANSCEIVER tables). Slice time is CPU time of Redis's main thread
(/proc schedstat), so that a busy machine does not count; the worst of all rounds is given.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fabric.collect import ask, parse_switch
from fabric.collect.parts import DEFAULT_PARTS
from tests.collect import big
from tests.collect.switch_box import DATABASES, Box, box

LIMIT_MS = 20.0
NEIGHBOUR = '{"lldp": [{"interface": [{"name": "Ethernet0", "chassis": [{"id": [{"type": "mac", "value": "aa"}]}]}]}]}'


def slices(switch: Box, database: str) -> tuple[list[float], int]:
    """CPU ms of each slice of a database, and the bytes of all answers."""
    jobs = ask.database_jobs(DEFAULT_PARTS)[database]
    state, times, size = "1:0:0", [], 0
    while state != "0":
        before = cpu_ms(switch.pid())
        reply = switch.redis(
            DATABASES[database], "EVAL", ask.lua(), "0", state, str(ask.SLICE_ITEMS), str(ask.SLICE_MS), *jobs
        )
        times.append(cpu_ms(switch.pid()) - before)
        state, _, body = reply.partition("\n")
        size += len(body)
    return times, size


def cpu_ms(process: int) -> float:
    return int(Path(f"/proc/{process}/task/{process}/schedstat").read_text().split()[0]) / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    worst = 0.0
    with box() as switch:
        big.fill(switch)
        switch.answer("lldpctl", NEIGHBOUR)
        print(f"{'database':12} {'slices':>6} {'worst ms':>9} {'mean ms':>8} {'kB':>6}")
        for database in ask.database_jobs(DEFAULT_PARTS):
            runs = [slices(switch, database) for _ in range(rounds)]
            times = [one for found, _ in runs for one in found]
            worst = max(worst, *times)
            print(
                f"{database:12} {len(runs[0][0]):6} {max(times):9.1f} {statistics.mean(times):8.1f} "
                f"{runs[0][1] // 1024:6}"
            )
        walls, parses, size = [], [], 0
        for _ in range(rounds):
            began = time.perf_counter()
            out, errors, _ = switch.run(ask.script())
            walls.append(time.perf_counter() - began)
            size = len(out)
            began = time.process_time()
            state = parse_switch("leaf", out, 0.0, errors=errors)
            parses.append(time.process_time() - began)
            assert not state.holes, state.holes
    print(
        f"one exec: {min(walls):.2f} s wall, {size / 1e6:.1f} MB; reading it: {min(parses):.2f} s CPU; best of {rounds}"
    )
    print(
        f"worst slice {worst:.1f} ms of Redis's CPU: limit {LIMIT_MS:g} ms {'kept' if worst <= LIMIT_MS else 'BROKEN'}"
    )
    return 0 if worst <= LIMIT_MS else 1


if __name__ == "__main__":
    sys.exit(main())
