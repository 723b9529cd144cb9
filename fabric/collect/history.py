"""The history store: snapshots over time in one SQLite file, each part kept once as long as it does not change.

`as_of` and `since` give snapshots back; `flaps` and `series` answer for one port without loading them. Readers and one
writer may have it open at once. Times are seconds since 1970.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fabric.errors import InputError, Problem
from fabric.values.codec import decode, plain
from fabric.values.snapshot import HostState, Snapshot, SwitchState

_VERSION = 1
_PATIENCE_S = 20.0
_SCHEMA = """
CREATE TABLE snapshot (
  id INTEGER PRIMARY KEY, fabric TEXT NOT NULL, started_at REAL NOT NULL, ended_at REAL NOT NULL, missing TEXT NOT NULL
);
CREATE INDEX snapshot_time ON snapshot (fabric, ended_at);
CREATE TABLE body (hash BLOB PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE part (
  snapshot INTEGER NOT NULL REFERENCES snapshot ON DELETE CASCADE, device TEXT NOT NULL, kind TEXT NOT NULL,
  part TEXT NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (snapshot, device, part)
) WITHOUT ROWID;
CREATE INDEX part_hash ON part (hash);
CREATE TABLE port_event (
  device TEXT NOT NULL, port TEXT NOT NULL, at REAL NOT NULL, oper_up INTEGER, flap_count INTEGER, last_down REAL,
  PRIMARY KEY (device, port, at)
) WITHOUT ROWID;
CREATE TABLE note (id INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL);
CREATE INDEX note_time ON note (kind, at);
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """A snapshot in the store."""

    number: int
    fabric: str
    started_at: float
    ended_at: float
    devices: int
    missing: int


@dataclass(frozen=True, slots=True)
class PortEvent:
    """A port as it was seen when something of it changed."""

    at: float
    oper_up: bool | None
    flap_count: int | None
    last_down: float | None


class History:
    """An open store. A context manager. InputError when the file is no history, or of a newer railfab."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False)
            self._write_ahead()
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute("PRAGMA foreign_keys=ON")
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                with self._transaction():
                    # Another process may have made it while we waited for the lock.
                    if self._db.execute("PRAGMA user_version").fetchone()[0] == 0:
                        for statement in _SCHEMA.split(";"):
                            self._db.execute(statement)
                        self._db.execute(f"PRAGMA user_version={_VERSION}")
            elif version != _VERSION:
                raise InputError(
                    Problem(f"is of history version {version}", "use the railfab that wrote it", file=str(path))
                )
        except (sqlite3.Error, OSError) as error:
            raise InputError(
                Problem(f"cannot be used as history: {error}", "move it away, or give --state", file=str(path))
            ) from None

    def _write_ahead(self) -> None:
        """Readers beside a writer. SQLite does not wait when two processes switch to it at once: so we do."""
        until = time.monotonic() + _PATIENCE_S
        while self._db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.02)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def add(self, snapshot: Snapshot) -> int:
        """Store a snapshot, whole or not at all; its number. Parts equal to known ones cost a reference."""
        with self._transaction():
            number = self._db.execute(
                "INSERT INTO snapshot (fabric, started_at, ended_at, missing) VALUES (?,?,?,?)",
                (snapshot.fabric, snapshot.started_at, snapshot.ended_at, json.dumps(dict(snapshot.missing))),
            ).lastrowid
            assert number is not None
            for name, state in snapshot.switches.items():
                self._store(number, name, "switch", state)
                self._events(name, state)
            for name, host in snapshot.hosts.items():
                self._store(number, name, "host", host)
        return number

    def _store(self, number: int, device: str, kind: str, state: SwitchState | HostState) -> None:
        small: dict[str, Any] = {}
        rows: list[tuple[int, str, str, str, bytes]] = []
        for one in fields(state):
            value = getattr(state, one.name)
            if isinstance(value, (Mapping, tuple)) and value:
                rows.append((number, device, kind, one.name, self._body(plain(value))))
            else:
                small[one.name] = plain(value)
        rows.append((number, device, kind, "", self._body(small)))
        self._db.executemany("INSERT INTO part VALUES (?,?,?,?,?)", rows)

    def _body(self, value: Any) -> bytes:
        data = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if self._db.execute("SELECT 1 FROM body WHERE hash=?", (digest,)).fetchone() is None:
            self._db.execute("INSERT INTO body VALUES (?,?)", (digest, zlib.compress(data, 3)))
        return digest

    def _events(self, device: str, state: SwitchState) -> None:
        known = {
            row[0]: row[1:]
            for row in self._db.execute(
                "SELECT port, oper_up, flap_count, last_down, MAX(at) FROM port_event WHERE device=? GROUP BY port",
                (device,),
            )
        }
        for name, port in (state.ports or {}).items():
            up = None if port.oper_up is None else int(port.oper_up)
            now = (up, port.flap_count, port.last_down_time)
            if name not in known or known[name][:3] != now:
                self._db.execute(
                    "INSERT OR REPLACE INTO port_event VALUES (?,?,?,?,?,?)", (device, name, state.taken_at, *now)
                )

    def taken(self, fabric: str | None = None, *, since: float = 0.0) -> list[Taken]:
        """Snapshots that ended at or after `since`, oldest first."""
        rows = self._db.execute(
            "SELECT id, fabric, started_at, ended_at, missing,"
            " (SELECT COUNT(*) FROM part WHERE snapshot=id AND part='') FROM snapshot"
            " WHERE ended_at >= ? AND (? IS NULL OR fabric = ?) ORDER BY ended_at, id",
            (since, fabric, fabric),
        )
        return [Taken(row[0], row[1], row[2], row[3], row[5], len(json.loads(row[4]))) for row in rows]

    def load(self, number: int, parts: Collection[str] | None = None) -> Snapshot:
        """A stored snapshot; `parts` (field names of SwitchState) loads only these of each device, which is quick.

        InputError when there is none of that number.
        """
        head = self._db.execute(
            "SELECT fabric, started_at, ended_at, missing FROM snapshot WHERE id=?", (number,)
        ).fetchone()
        if head is None:
            raise InputError(Problem(f"has no snapshot {number}", "see `taken`", file=str(self._path)))
        devices: dict[tuple[str, str], dict[str, Any]] = {}
        wanted = None if parts is None else json.dumps(["", *parts])
        for device, kind, part, data in self._db.execute(
            "SELECT device, kind, part, data FROM part JOIN body USING (hash) WHERE snapshot=?1"
            " AND (?2 IS NULL OR part IN (SELECT value FROM json_each(?2)))",
            (number, wanted),
        ):
            value = json.loads(zlib.decompress(data))
            row = devices.setdefault((kind, device), {})
            if part:
                row[part] = value
            else:
                row.update(value)
        return Snapshot(
            fabric=head[0],
            started_at=head[1],
            ended_at=head[2],
            switches={device: decode(SwitchState, row) for (kind, device), row in devices.items() if kind == "switch"},
            hosts={device: decode(HostState, row) for (kind, device), row in devices.items() if kind == "host"},
            missing=json.loads(head[3]),
        )

    def as_of(self, at: float, fabric: str | None = None) -> Snapshot | None:
        """The last snapshot that had ended at time `at`; None when there is none."""
        row = self._db.execute(
            "SELECT id FROM snapshot WHERE ended_at <= ? AND (? IS NULL OR fabric = ?)"
            " ORDER BY ended_at DESC, id DESC LIMIT 1",
            (at, fabric, fabric),
        ).fetchone()
        return None if row is None else self.load(row[0])

    def since(self, at: float, fabric: str | None = None) -> Iterator[Snapshot]:
        """Snapshots that ended at or after `at`, oldest first, loaded one by one."""
        for one in self.taken(fabric, since=at):
            yield self.load(one.number)

    def events(self, device: str, port: str, *, since: float = 0.0) -> list[PortEvent]:
        """What was seen of a port each time it had changed, oldest first."""
        rows = self._db.execute(
            "SELECT at, oper_up, flap_count, last_down FROM port_event WHERE device=? AND port=? AND at>=? ORDER BY at",
            (device, port, since),
        )
        return [PortEvent(row[0], None if row[1] is None else bool(row[1]), row[2], row[3]) for row in rows]

    def flaps(self, device: str, port: str, *, since: float) -> int | None:
        """Ups and downs of a port counted since `since`; None when nothing was seen of it before and after.

        A count that fell (swss started again) adds what it counted since: a lower bound.
        """
        before = self._db.execute(
            "SELECT flap_count FROM port_event WHERE device=? AND port=? AND at<? ORDER BY at DESC LIMIT 1",
            (device, port, since),
        ).fetchone()
        counts = [before[0]] if before else []
        counts += [event.flap_count for event in self.events(device, port, since=since)]
        known: list[int] = [count for count in counts if count is not None]
        if not known:
            return None
        return sum(new - old if new >= old else new for old, new in pairwise(known))

    def series(self, device: str, part: str, key: str, field: str, *, since: float = 0.0) -> list[tuple[float, Any]]:
        """One value over time: `("p1-l0", "counters", "Ethernet0", "IF_IN_ERRORS")` -> [(ended_at, value)]."""
        found: list[tuple[float, Any]] = []
        for at, data in self._db.execute(
            "SELECT ended_at, data FROM snapshot JOIN part ON snapshot=id JOIN body USING (hash)"
            " WHERE device=? AND part=? AND ended_at>=? ORDER BY ended_at",
            (device, part, since),
        ):
            row = json.loads(zlib.decompress(data)).get(key)
            if isinstance(row, dict) and row.get(field) is not None:
                found.append((at, row[field]))
        return found

    def note(self, at: float, kind: str, data: Mapping[str, Any]) -> None:
        """Keep a small document (a verdict, a push) in time order."""
        self._db.execute("INSERT INTO note (at, kind, data) VALUES (?,?,?)", (at, kind, json.dumps(data)))

    def notes(self, kind: str, *, since: float = 0.0) -> list[tuple[float, dict[str, Any]]]:
        """Documents of a kind since a time, oldest first."""
        rows = self._db.execute("SELECT at, data FROM note WHERE kind=? AND at>=? ORDER BY at, id", (kind, since))
        return [(at, json.loads(data)) for at, data in rows]

    def prune(self, before: float, *, keep_every_s: float | None = 86400.0, events_before: float | None = None) -> int:
        """Forget snapshots that ended before a time; the last of every `keep_every_s` is kept (None: none is).

        Port events and notes from before `events_before` (default: the same time) are forgotten too, but for the last
        event of each port. Returns how many snapshots went.
        """
        forget = before if events_before is None else events_before
        with self._transaction():
            old = self._db.execute(
                "SELECT id, fabric, ended_at FROM snapshot WHERE ended_at < ? ORDER BY ended_at, id", (before,)
            ).fetchall()
            kept: dict[tuple[str, int], int] = {}
            if keep_every_s:
                for number, fabric, ended_at in old:
                    kept[fabric, int(ended_at // keep_every_s)] = number
            keep = set(kept.values())
            gone = [(number,) for number, _, _ in old if number not in keep]
            self._db.executemany("DELETE FROM snapshot WHERE id=?", gone)
            self._db.execute("DELETE FROM body WHERE hash NOT IN (SELECT hash FROM part)")
            self._db.execute(
                "DELETE FROM port_event WHERE at < ? AND at < (SELECT MAX(at) FROM port_event AS last"
                " WHERE last.device=port_event.device AND last.port=port_event.port)",
                (forget,),
            )
            self._db.execute("DELETE FROM note WHERE at < ?", (forget,))
        return len(gone)
