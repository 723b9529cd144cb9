"""Whom the watcher tells: the prolog's verdict file, metrics (a file, HTTP), the history, a line a change."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from fabric.collect.history import History
from fabric.errors import InputError, Problem
from fabric.values.finding import Report, summary_json
from fabric.watch.events import Event
from fabric.watch.watcher import Listener, Round

# Every snapshot of the last hours, then one an hour.
WHOLE_S = 2 * 3600.0
THINNED_S = 3600.0
_PRUNE_EVERY = 30


def verdicts(
    path: Path, record: Callable[[Report], dict[str, Any]], write: Callable[[Path, dict[str, Any]], None]
) -> Listener:
    """Write every node's answer where the prolog reads it."""

    def tell(done: Round) -> None:
        write(path, record(done.report))

    return tell


def metrics_text(done: Round, fabric: str, report_text: str) -> str:
    """The report's metrics and the watcher's own."""
    name = fabric.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    rows = (
        ("last_round_timestamp_seconds", "When the last round ended.", done.ended_at),
        ("round_seconds", "How long the last round took.", done.ended_at - done.started_at),
        ("rounds_total", "Rounds since the watcher started.", done.number),
        ("late_seconds", "How late the last round started.", done.late_s),
        ("open_findings", "Findings that have not cleared.", done.open),
    )
    lines = []
    for row, words, value in rows:
        kind = "counter" if row.endswith("_total") else "gauge"
        lines += [
            f"# HELP railfab_watch_{row} {words}",
            f"# TYPE railfab_watch_{row} {kind}",
            f'railfab_watch_{row}{{fabric="{name}"}} {value:.3f}',
        ]
    return report_text + "\n".join(lines) + "\n"


def metrics_file(path: Path, text: Callable[[Round], str], save: Callable[[Path, str], None]) -> Listener:
    """Write metrics for the node exporter's textfile collector (the name must end in .prom)."""

    def tell(done: Round) -> None:
        save(path, text(done))

    return tell


def remember(history: History, keep_s: float) -> Listener:
    """Put every snapshot and its summary into the history; thin it out, and forget what is older than `keep_s`."""

    def tell(done: Round) -> None:
        now = done.snapshot.ended_at
        if done.snapshot.switches:
            history.add(done.snapshot)
        history.note(now, "report", {"summary": summary_json(done.report.summary), "open": done.open})
        for event in done.events:
            history.note(event.at, "event", event.document(done.snapshot.fabric))
        if done.number % _PRUNE_EVERY == 1:
            history.prune(now - WHOLE_S, keep_every_s=THINNED_S, events_before=now - keep_s)
            history.prune(now - keep_s, keep_every_s=None)

    return tell


def lines(say: Callable[[str], None], fabric: str, as_json: bool) -> Listener:
    """One line a change, and one for the first round."""

    def tell(done: Round) -> None:
        for event in done.events:
            say(json.dumps(event.document(fabric), ensure_ascii=False) if as_json else in_words(event))
        if not as_json and done.number == 1:
            summary = done.report.summary
            say(
                f"{_when(done.ended_at)}  watching {fabric}: {summary.devices - len(summary.missing_devices)} of "
                f"{summary.devices} switches answer, {done.open} findings open"
            )

    return tell


def in_words(event: Event) -> str:
    """One event as one line: when, what, where, what to do."""
    finding = event.finding
    place = " ".join(str(word) for word in (finding.device or finding.node, finding.port or finding.nic) if word)
    observed = finding.observed or finding.expected or ""
    head = f"{_when(event.at)}  {event.kind.upper():8}  {finding.status.value:7}  {finding.code}"
    text = f"{head}  {place}: {observed}"
    if event.kind == "cleared":
        return f"{text} (after {_span(event.at - event.since)})"
    if event.times:
        text += f" ({event.times} times before in a day)"
    return f"{text}; {finding.remedy}" if finding.remedy else text


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


class Endpoint:
    """HTTP for scrapers: `/metrics`, `/verdict` (the prolog's record), `/health` (503 when the last round is old).

    Read only, no dependency. `listen` is HOST:PORT; bind it to a management address, it has no login.
    """

    def __init__(
        self,
        listen: str,
        metrics: Callable[[Round], str],
        record: Callable[[Report], Mapping[str, Any]],
        clock: Callable[[], float],
        stale_s: float,
    ) -> None:
        host, colon, port = listen.rpartition(":")
        if not colon or not port.isdigit() or int(port) > 65535:
            raise InputError(Problem(f"{listen!r} is not HOST:PORT", "write for example 127.0.0.1:9468"))
        self._metrics = metrics
        self._record = record
        self._pages: dict[str, tuple[str, bytes]] = {}
        self._ended_at: float | None = None
        self._clock = clock
        self._stale_s = stale_s
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, kind, body = endpoint.page(self.path.partition("?")[0])
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        try:
            self._server = ThreadingHTTPServer((host.strip("[]") or "127.0.0.1", int(port)), Handler)
        except OSError as error:
            raise InputError(Problem(f"cannot listen on {listen}: {error.strerror}", "give a free one")) from None
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, name="railfab-http", daemon=True).start()

    def __call__(self, done: Round) -> None:
        """Take a finished round."""
        pages = {
            "/metrics": ("text/plain; version=0.0.4; charset=utf-8", self._metrics(done).encode()),
            "/verdict": ("application/json", json.dumps(self._record(done.report)).encode()),
        }
        self._pages, self._ended_at = pages, done.ended_at

    def page(self, path: str) -> tuple[int, str, bytes]:
        """Status, content type and body of a path."""
        if path == "/health":
            age = None if self._ended_at is None else self._clock() - self._ended_at
            fresh = age is not None and age <= self._stale_s
            text = "no round yet" if age is None else f"last round {age:.0f} s ago"
            return (200 if fresh else 503), "text/plain", f"{text}\n".encode()
        if path in self._pages:
            kind, body = self._pages[path]
            return 200, kind, body
        if path in ("/metrics", "/verdict"):
            return 503, "text/plain", b"no round yet\n"
        return 404, "text/plain", b"there are /metrics, /verdict and /health\n"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
