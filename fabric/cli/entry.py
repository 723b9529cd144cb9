"""Entry point of the `railfab` command.

Verbs are found by name and imported only when they run, so that `--help` answers at once. Every exception ends
here: ours as its message and exit code, anything else as exit 3 with one line and the place of the details.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import click

# verb -> (module of this room, one line for --help). The module has a click command called `command`.
VERBS: dict[str, tuple[str, str]] = {
    "design": ("design", "check a design; print capacity, spares, oversubscription"),
    "cables": ("cables", "cable plan out and in"),
    "draw": ("draw", "pictures of the fabric"),
    "render": ("render", "write config_db.json, frr.conf and host files"),
    "lint": ("lint", "judge config_db.json files"),
    "plan": ("plan", "diff against the running fabric, impact and waves"),
    "apply": ("apply", "roll a plan out"),
    "rollback": ("rollback", "undo a run"),
    "drift": ("drift", "compare the running fabric with the intent"),
    "collect": ("collect", "read live state into a snapshot"),
    "check": ("check", "judge live state against the model"),
    "gate": ("gate", "go / no-go for a job's nodes"),
    "where": ("where", "find a node, NIC, port, address or label"),
    "explain": ("explain", "what a finding means and what to do"),
    "hold": ("hold", "keep state made by hand, with reason and end"),
    "release": ("release", "end a hold"),
    "trust": ("trust", "enrol host keys and identities on purpose"),
    "adopt": ("adopt", "fill the ledger from a running fabric"),
    "platform": ("platform", "import a switch model"),
    "schema": ("schema", "JSON Schema of intents, for editors"),
    "lab": ("lab", "the twin: up, down, status, fault, exec"),
}


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb for verb, (module, _) in VERBS.items() if (Path(__file__).parent / f"{module}.py").exists()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"fabric.cli.{VERBS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, VERBS[verb][1]) for verb in self.list_commands(ctx)])


@click.command(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="railfab", prog_name="railfab")
def railfab() -> None:
    """Model, generate, push and check rail-optimized GPU fabrics on SONiC.

    Exit codes: 0 healthy, 1 findings, 2 could not tell or bad usage, 3 an internal error.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit with its code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run the command; return its exit code. Never raises but for signals that ended us."""
    from fabric.cli.clash import clash

    problem = clash()
    if problem:
        click.echo(f"railfab: {problem}", err=True)
        return 2
    try:
        code = railfab.main(arguments, prog_name="railfab", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.Abort:
        click.echo("railfab: stopped", err=True)
        return 130
    except KeyboardInterrupt:
        click.echo("railfab: stopped by Ctrl-C", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return 2
    except BrokenPipeError:
        # The reader of our pipe went away (`railfab check | head`): not an error of anybody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> int:
    from fabric.errors import RailfabError

    if isinstance(error, RailfabError):
        for line in str(error).splitlines() or [type(error).__name__]:
            click.echo(f"railfab: {line}", err=True)
        return error.exit_code
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="railfab-error-", suffix=".txt", delete=False) as details:
        traceback.print_exception(error, file=details)
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    click.echo(f"railfab: internal error: {what} (details: {details.name}; please report them)", err=True)
    return 3
