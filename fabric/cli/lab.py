"""`railfab lab`: the twin."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

_INTENT = click.argument("intent", type=click.Path(path_type=Path))
_STATE = click.option("--state", type=click.Path(path_type=Path), help="where state stands; default: beside the intent")
_JSON = click.option("--json", "as_json", is_flag=True, help="a JSON document on stdout and nothing else")


@click.group()
def command() -> None:
    """The twin of an intent's fabric on this machine: real FRR, LLDP, Redis and SSH, no switch needed."""


@command.command("up")
@_INTENT
@_STATE
@_JSON
@click.option("--hosts", type=click.IntRange(min=0), help="build only the first N hosts")
@click.option("--quiet", "-q", is_flag=True, help="no progress on stderr")
def up(intent: Path, state: Path | None, as_json: bool, hosts: int | None, quiet: bool) -> None:
    """Build the twin. Its switches come up unconfigured: `railfab apply` brings the fabric up."""
    from fabric import lab
    from fabric.allocate import load_plan

    plan = load_plan(intent, state=state)
    say = None if quiet or as_json else lambda phase: click.echo(f"  {phase}", err=True)
    session = lab.up(plan, _folder(intent, state), hosts=hosts, progress=say)
    document = lab.status(session.folder)
    if as_json:
        _print(document)
        return
    count = {role: sum(node["role"] == role for node in document["nodes"]) for role in ("host",)}
    click.echo(
        f"{plan.name}: {len(document['nodes']) - count['host']} switches, {count['host']} hosts, "
        f"{len(document['cables'])} cables, up in {sum(session.seconds.values()):.1f} s"
        + (" without root" if document["rootless"] else "")
    )
    click.echo(f"next: railfab lab exec {intent} -- railfab plan {intent} -o PLAN")


@command.command("down")
@_INTENT
@_STATE
@_JSON
def down(intent: Path, state: Path | None, as_json: bool) -> None:
    """End the twin and remove everything it made."""
    from fabric import lab

    ran = lab.down(_folder(intent, state))
    if as_json:
        _print({"schema": "railfab.lab-down/1", "ran": ran})
    else:
        click.echo("the twin is gone" if ran else "no twin ran; nothing is left of one")


@command.command("status")
@_INTENT
@_STATE
@_JSON
def status(intent: Path, state: Path | None, as_json: bool) -> int:
    """Nodes, cables as they are plugged now, and the faults that are in."""
    from fabric import lab

    document = lab.status(_folder(intent, state))
    if as_json:
        _print(document)
    else:
        for node in document["nodes"]:
            click.echo(f"{node['role']:8} {node['name']}")
        click.echo(f"{len(document['cables'])} cables are plugged in")
        for one in document["faults"] or ["none"]:
            click.echo(f"fault: {one}")
    if not document["agent"]:
        click.echo(
            "railfab: the twin's agent has ended: what its switches say is stale; run `lab down`, `lab up`", err=True
        )
        return 2
    return 0


@command.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@_STATE
@_INTENT
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
def execute(intent: Path, state: Path | None, words: tuple[str, ...]) -> None:
    """Run a command: `exec INTENT -- CMD...` on the management network, `exec INTENT NODE -- CMD...` in a node.

    On the management network it sees the machine's files and the twin's key and known_hosts in its environment.
    """
    from fabric import lab

    node, command_words = _split(words)
    folder = _folder(intent, state)
    before, environment = lab.inside(folder, node) if node else lab.management(folder)
    try:
        os.execvpe(before[0], [*before, *command_words], environment)
    except OSError as error:
        raise click.ClickException(f"{before[0]}: {error.strerror}") from None


@command.group("fault")
def fault() -> None:
    """Put a fault in; the same with --undo takes it out again."""


def _fault(kind: str, words: list[str], intent: Path, state: Path | None, undo: bool, as_json: bool) -> None:
    from fabric import lab

    done = lab.fault(_folder(intent, state), kind, words, undo=undo)
    if as_json:
        _print({"schema": "railfab.lab-fault/1", **done})
    else:
        click.echo(f"{done['fault']}: {'in' if done['in'] else 'undone'}")


def _folder(intent: Path, state: Path | None) -> Path:
    from fabric.state import state_paths

    return state_paths(intent, state).folder / "lab"


def _split(words: tuple[str, ...]) -> tuple[str | None, list[str]]:
    if words[0] == "--":
        node, rest = None, list(words[1:])
    elif len(words) > 1 and words[1] == "--":
        node, rest = words[0], list(words[2:])
    else:
        raise click.UsageError("write `lab exec INTENT -- CMD...` or `lab exec INTENT NODE -- CMD...`")
    if not rest:
        raise click.UsageError("no command given after --")
    return node, rest


def _print(document: dict[str, Any]) -> None:
    import json

    click.echo(json.dumps(document, indent=2))
