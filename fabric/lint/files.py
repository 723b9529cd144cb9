"""Find and read the files to judge."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabric.errors import InputError, Problem
from fabric.lint.view import found
from fabric.values.finding import Finding, Severity, Status

_NAMESPACE = re.compile(r"localhost|asic\d+")


@dataclass(frozen=True, slots=True)
class ReadFile:
    """One file: its device, its JSON value (None when it has none), and what is wrong with the file itself.

    `device` is the host name inside, else the name of the folder, as `railfab render` lays files out.
    """

    path: Path
    device: str
    data: object
    problems: tuple[Finding, ...] = ()


def find_files(paths: Sequence[Path]) -> list[Path]:
    """Files named, and every `config_db*.json` under the folders named, in order and once.

    InputError names every path that does not exist and every folder that holds no such file.
    """
    files: dict[Path, None] = {}
    problems: list[Problem] = []
    for path in paths:
        if path.is_file():
            files[path] = None
        elif path.is_dir():
            inside = sorted(entry for entry in path.rglob("config_db*.json") if entry.is_file())
            if not inside:
                problems.append(
                    Problem("holds no config_db.json", "name the files, or give the folder they are in", file=str(path))
                )
            files |= dict.fromkeys(inside)
        else:
            problems.append(
                Problem("no such file or folder", "give files or folders of config_db.json", file=str(path))
            )
    if problems:
        raise InputError(problems)
    return list(files)


def read_file(path: Path) -> ReadFile:
    """Read one file. What cannot be read or is no JSON becomes a finding: could not be judged (CFG-09)."""
    folder = path.resolve().parent.name or str(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return ReadFile(path, folder, None, (_unreadable(path, folder, f"cannot be read: {reason}"),))
    twice: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        row = dict(pairs)
        if len(row) != len(pairs):
            names = [name for name, _ in pairs]
            twice.extend(sorted({name for name in names if names.count(name) > 1}))
        return row

    try:
        data = json.loads(text, object_pairs_hook=once)
    except ValueError as error:
        return ReadFile(path, folder, None, (_unreadable(path, folder, f"not JSON: {error}"),))
    except RecursionError:
        return ReadFile(path, folder, None, (_unreadable(path, folder, "not JSON: nested too deeply"),))
    if data is None or data == {}:
        what = "holds no table, so nothing could be judged"
        return ReadFile(path, folder, None, (_unreadable(path, folder, what),))
    if isinstance(data, Mapping) and len(data) > 1 and all(_NAMESPACE.fullmatch(str(name)) for name in data):
        what = f"holds a configuration for each of {', '.join(sorted(data))}: SONiC keeps one file for each ASIC"
        several = found("CFG-01", (path.name, None, None), what, "judge each one as a file of its own", device=folder)
        return ReadFile(path, folder, None, (several,))
    device = _host_name(data) or folder
    problems = tuple(
        found(
            "CFG-01",
            ("config_db", None, name),
            "this name stands twice in one object, and only the last one counts",
            "merge the two",
            device=device,
        )
        for name in twice
    )
    return ReadFile(path, device, data, problems)


def read_files(paths: Iterable[Path]) -> list[ReadFile]:
    """Read many files; see `read_file`."""
    return [read_file(path) for path in paths]


def _unreadable(path: Path, device: str, what: str) -> Finding:
    return found(
        "CFG-09",
        (path.name, None, None),
        what,
        "give a config_db.json that can be read",
        status=Status.UNKNOWN,
        severity=Severity.BLOCK,
        device=device,
    )


def _host_name(data: object) -> str | None:
    if not isinstance(data, Mapping):
        return None
    metadata = data.get("DEVICE_METADATA")
    row = metadata.get("localhost") if isinstance(metadata, Mapping) else data.get("DEVICE_METADATA|localhost")
    name = row.get("hostname") if isinstance(row, Mapping) else None
    return name if isinstance(name, str) and name else None
