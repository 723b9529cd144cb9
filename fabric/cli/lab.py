"""`railfab lab`: the twin."""

from __future__ import annotations

import functools
import os
import shlex
from collections.abc import Callable
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
    where = shlex.quote(str(intent))
    kept = "" if state is None else f" --state {shlex.quote(str(state))}"
    click.echo(f"next: railfab lab exec{kept} {where} -- railfab plan {where}{kept} -o PLAN")


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

    # Everywhere else an option may stand after INTENT; here what follows is the command's, but for this one.
    if words[0] == "--state" and len(words) > 1:
        state, words = Path(words[1]), words[2:]
    elif words[0].startswith("--state="):
        state, words = Path(words[0].removeprefix("--state=")), words[1:]
    node, command_words = _split(words)
    folder = _folder(intent, state)
    before, environment = lab.inside(folder, node) if node else lab.management(folder)
    try:
        os.execvpe(before[0], [*before, *command_words], environment)
    except OSError as error:
        raise click.ClickException(f"{before[0]}: {error.strerror}") from None


@command.group("fault", subcommand_metavar="KIND ...")
@_INTENT
@_STATE
@click.pass_context
def fault(context: click.Context, intent: Path, state: Path | None) -> None:
    """Put a fault in; the same with --undo takes it out again."""
    context.obj = _folder(intent, state)


def _kind(name: str) -> Callable[[Callable[..., list[str]]], click.Command]:
    """A kind of fault: the function gives the words of the fault, the rest is the same for all."""

    def make(function: Callable[..., list[str]]) -> click.Command:
        @functools.wraps(function)
        def run(undo: bool, as_json: bool, **arguments: Any) -> None:
            from fabric import lab

            folder: Path = click.get_current_context().obj
            done = lab.fault(folder, name, function(undo=undo, **arguments), undo=undo)
            if as_json:
                _print({"schema": "railfab.lab-fault/1", **done})
            else:
                click.echo(f"{done['fault']}: {'in' if done['in'] else 'undone'}")

        options = click.option("--undo", is_flag=True, help="take this fault out again")
        return fault.command(name)(options(_JSON(run)))

    return make


@_kind("swap")
@click.argument("first", metavar="DEV:PORT")
@click.argument("second", metavar="DEV:PORT")
def swap(first: str, second: str, **_: Any) -> list[str]:
    """Exchange the plugs in two ports."""
    return [first, second]


@_kind("cut")
@click.argument("end", metavar="DEV:PORT")
def cut(end: str, **_: Any) -> list[str]:
    """Pull the cable in a port: both its ends lose carrier."""
    return [end]


@_kind("flap")
@click.argument("end", metavar="DEV:PORT")
@click.option("-n", "times", type=click.IntRange(1, 50), default=3, show_default=True, help="times down and up")
def flap(end: str, times: int, **_: Any) -> list[str]:
    """Have a port lose its carrier and get it back; ends by itself, --undo only forgets it."""
    return [end, str(times)]


@_kind("nexthop")
@click.argument("device", metavar="DEV")
@click.argument("prefix")
@click.argument("hop", metavar="NEXTHOP")
@click.option(
    "--layer",
    type=click.Choice(["rib", "kernel", "appl", "asic"]),
    default="asic",
    show_default=True,
    help="where it goes missing: BGP's own table (an inbound filter on that one session), the kernel's route, APPL_DB "
    "(and so the ASIC), or the ASIC alone",
)
def nexthop(device: str, prefix: str, hop: str, layer: str, **_: Any) -> list[str]:
    """Lose one next hop of a route in one layer; the layers above still have it, and every session stays up."""
    return [device, prefix, hop, layer]


@_kind("bgpd")
@click.argument("device", metavar="DEV")
def bgpd(device: str, **_: Any) -> list[str]:
    """Kill the BGP daemon of a switch; --undo restarts its container."""
    return [device]


@_kind("lldp")
@click.argument("end", metavar="DEV:PORT")
def lldp(end: str, **_: Any) -> list[str]:
    """Stop LLDP in both directions on one port."""
    return [end]


@_kind("mtu")
@click.argument("end", metavar="DEV:PORT")
@click.argument("size", metavar="N", type=click.IntRange(68, 9216), required=False)
def mtu(end: str, size: int | None, undo: bool, **_: Any) -> list[str]:
    """Set the MTU of one port, as somebody would do by hand."""
    if size is None and not undo:
        raise click.UsageError("which MTU? write `lab fault INTENT mtu DEV:PORT N`")
    return [end, str(size or 0)]


@_kind("nhg")
@click.argument("device", metavar="DEV")
def nhg(device: str, **_: Any) -> list[str]:
    """Let FRR 8.4 use the kernel's next-hop groups: after a link flap the kernel then has fewer paths than FRR says."""
    return [device]


def _folder(intent: Path, state: Path | None) -> Path:
    from fabric.state import state_paths

    return state_paths(intent, state).folder / "lab"


def _split(words: tuple[str, ...]) -> tuple[str | None, list[str]]:
    if words[:1] == ("--",):
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
