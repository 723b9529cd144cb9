"""`railfab watch`: keep watching."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fabric.values.finding import Report
    from fabric.values.snapshot import Snapshot


@click.command()
@click.argument("intent", type=click.Path(path_type=Path))
@click.option("--every", default="60s", show_default=True, metavar="TIME", help="Time between rounds.")
@click.option("--rounds", type=click.IntRange(min=1), metavar="N", help="End after so many; default: never.")
@click.option("--only", metavar="NAMES", help="These checks only: cabling,links,bgp,ecmp,roce.")
@click.option(
    "--metrics", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Prometheus text file."
)
@click.option("--listen", metavar="HOST:PORT", help="HTTP: /metrics, /verdict, /health.")
@click.option("--keep", default="30d", show_default=True, metavar="TIME", help="How long the history remembers.")
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Folder of ledger and state.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document a line and change (railfab.watch-event/1).")
def command(
    intent: Path,
    every: str,
    rounds: int | None,
    only: str | None,
    metrics: Path | None,
    listen: str | None,
    keep: str,
    state: Path | None,
    as_json: bool,
) -> int:
    """Collect and judge INTENT's fabric again and again: a line for every change, verdicts for the prolog, metrics,
    and a history. Ends by Ctrl-C or SIGTERM, or after --rounds with the exit code of the last one."""
    import signal
    import threading
    import time

    from fabric.allocate import load_plan
    from fabric.collect.gather import collect, over_reader
    from fabric.collect.history import History
    from fabric.gate.record import record, write_record
    from fabric.gate.source import check_fabric, seconds, understood
    from fabric.report import save, write_report
    from fabric.state import state_paths
    from fabric.transport.asyncssh_reader import Reader
    from fabric.transport.login import Login, terminal_prompt
    from fabric.transport.session import Target
    from fabric.values.plan import LifeState
    from fabric.watch import Round, Watcher, listeners
    from fabric.watch.watcher import REMEMBERED

    plan = load_plan(intent, state=state)
    paths = state_paths(intent, state)
    every_s, keep_s = seconds(every), seconds(keep)
    names = None if only is None else [name.strip() for name in only.split(",") if name.strip()]
    understood(plan, only=names)
    targets = [
        Target(switch.name, switch.mgmt_address.partition("/")[0])
        for switch in plan.switches.values()
        if switch.state in (LifeState.IN_SERVICE, LifeState.INSTALLED)
    ]
    login = Login.from_environment(paths.known_hosts, ask=terminal_prompt())

    def judge(snapshot: Snapshot, before: Snapshot | None, history: Sequence[Snapshot]) -> Report:
        return check_fabric(
            plan, intent, state=state, snapshot=snapshot, baseline=before, window=every_s, only=names, history=history
        )

    def text(done: Round) -> str:
        return listeners.metrics_text(done, plan.name, write_report("prom", done.report, plan))

    ended: list[int] = []

    def end(number: int, _frame: Any) -> None:
        # Everything a round writes is written whole or not at all, so it may be left anywhere.
        ended.append(number)
        raise KeyboardInterrupt

    with contextlib.ExitStack() as open_:
        kept = open_.enter_context(History(paths.history))
        reader = open_.enter_context(Reader(login))
        ask = over_reader(reader, whole_deadline_s=max(120.0, every_s))
        told = [
            listeners.verdicts(paths.verdict, lambda report: record(plan, report), write_record),
            listeners.remember(kept, keep_s),
            listeners.lines(lambda line: click.echo(line), plan.name, as_json),
        ]
        if metrics is not None:
            told.append(listeners.metrics_file(metrics, text, save))
        if listen is not None:
            endpoint = listeners.Endpoint(listen, text, lambda report: record(plan, report), time.time, 3 * every_s)
            open_.callback(endpoint.close)
            told.append(endpoint)
        now = time.time()
        hourly = {int(one.ended_at // 3600): one.number for one in kept.taken(plan.name, since=now - 86400)}
        watcher = Watcher(
            plan.name,
            [target.name for target in targets],
            lambda: collect(plan.name, targets, ask, keep_raw=False).snapshot,
            judge,
            told,
            every_s=every_s,
            clock=time.time,
            wait=threading.Event().wait,
            history=[kept.load(number, REMEMBERED) for number in hourly.values()],
        )
        before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGINT)}
        open_.callback(lambda: [signal.signal(number, handler) for number, handler in before.items()])
        try:
            return watcher.run(rounds)
        except KeyboardInterrupt:
            return 128 + ended[0] if ended else 130
