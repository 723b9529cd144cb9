"""Reading every switch of a running twin beside the floor, in turns: planning an unchanged fabric, and collecting it.

    railfab lab exec INTENT -- python benchmarks/reach.py INTENT [--rounds 6]

The twin runs what it must (`plan`, `apply`). The floor is `ssh SWITCH true` to every compute switch at once with
OpenSSH's defaults. `collect` is what `check` does, `with raw` also packs the raw answers as `railfab collect` keeps
them. What is given is the ratio of the best of each; the limit is 2. `benchmarks/twin.py` runs
this on the twin it brings up.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fabric.allocate import load_plan
from fabric.cli.plan import plan_live
from fabric.collect.over_ssh import collect_over_ssh
from fabric.state import state_paths
from fabric.transport import Login, Target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("intent", type=Path)
    parser.add_argument("--rounds", type=int, default=6)
    given = parser.parse_args()
    intent: Path = given.intent
    plan = load_plan(intent)
    login = Login.from_environment(state_paths(intent).known_hosts)
    targets = [
        Target(name, switch.mgmt_address.split("/")[0])
        for name, switch in plan.switches.items()
        if switch.network.value == "compute"
    ]
    words = ["ssh", "-F", "none", "-i", str(login.key), "-o", "BatchMode=yes", "-o",
             f"UserKnownHostsFile={login.known_hosts}"]  # fmt: skip

    def floor() -> None:
        running = [
            subprocess.Popen([*words, f"{login.user}@{target.address}", "true"], stdout=subprocess.DEVNULL)
            for target in targets
        ]
        assert all(one.wait() == 0 for one in running)

    def planned() -> None:
        made = plan_live(intent, None, tuple(target.name for target in targets))
        assert not made.unreachable, made.unreachable
        assert all(change.method == "none" for change in made.changes.values()), "the fabric runs something else"

    def collected(keep_raw: bool) -> None:
        _, done = collect_over_ssh(plan.name, targets, login, keep_raw=keep_raw)
        assert not done.snapshot.missing, done.snapshot.missing
        assert all(not state.holes for state in done.snapshot.switches.values()), "a hole"

    work: dict[str, Callable[[], None]] = {
        "floor": floor,
        "plan": planned,
        "collect": lambda: collected(False),
        "with raw": lambda: collected(True),
    }
    for one in work.values():
        one()
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(given.rounds):
        for name, one in work.items():
            began = time.perf_counter()
            one()
            times[name].append(time.perf_counter() - began)
        last = {name: found[-1] for name, found in times.items()}
        print(
            "   ".join(f"{name} {took:5.2f} s ({took / last['floor']:.2f})" for name, took in last.items()), flush=True
        )
    best = {name: min(found) for name, found in times.items()}
    ratios = ", ".join(f"{name} {took / best['floor']:.2f}" for name, took in best.items() if name != "floor")
    print(
        f"{len(targets)} switches, best of {given.rounds} against the floor's {best['floor']:.2f} s: {ratios}; limit 2"
    )


if __name__ == "__main__":
    main()
