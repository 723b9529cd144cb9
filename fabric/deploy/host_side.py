"""The hosts' part of a change: which rendered host files differ from those of the last apply.

railfab does not log in to hosts to write files; whoever does (an image, Ansible) must put them in place in the same
window, so the plan names them. What the last apply knew is kept as digests in the state folder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from fabric.deploy.record import write_whole
from fabric.errors import InputError, Problem
from fabric.values.device_config import HostFiles

Digests = dict[str, dict[str, str]]
SCHEMA = "railfab.host-side/1"


def digests(files: Iterable[HostFiles]) -> Digests:
    """sha256 of each file by host and path."""
    return {
        one.host: {path: hashlib.sha256(text.encode()).hexdigest() for path, text in one.files.items()}
        for one in files
        if one.files
    }


def read_known(path: Path) -> Digests | None:
    """What the last apply knew, None when there was none. InputError when the file is no such thing."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        hosts = data["hosts"]
        return {host: {name: str(value) for name, value in files.items()} for host, files in hosts.items()}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise InputError(
            Problem(f"cannot be read: {error}", "remove it: the next apply writes it", file=str(path))
        ) from None


def write_known(path: Path, known: Digests) -> None:
    """Keep what was rendered when the switches were changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps({"schema": SCHEMA, "hosts": known}, indent=1) + "\n")


def differing(now: Digests, known: Digests | None) -> dict[str, tuple[str, ...]]:
    """Paths by host that are new or other than the last apply knew; all of them when nothing is known."""
    before = known or {}
    found = {}
    for host, files in now.items():
        there = before.get(host, {})
        paths = tuple(path for path in files if there.get(path) != files[path])
        if paths:
            found[host] = paths
    return found


def notes(hosts: Mapping[str, tuple[str, ...]], *, first: bool) -> list[str]:
    """One line for each set of paths, with the hosts it is about."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for host, paths in hosts.items():
        alike.setdefault(paths, []).append(host)
    why = "have not gone with a push known here" if first else "differ from those of the last apply"
    return [
        f"host side: {', '.join(paths)} of {_some(names)} {why}; put them in place in the same window "
        "(railfab render writes them)"
        for paths, names in alike.items()
    ]


def _some(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{names[0]} ... {names[-1]} ({len(names)} hosts)"
