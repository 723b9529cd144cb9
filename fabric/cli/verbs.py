"""The verbs of `railfab`: found by name, imported only when they run, so that `--help` answers at once."""

from __future__ import annotations

import difflib
import importlib
import os
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
    "swap": ("swap", "replace a node by a reserve node"),
    "watch": ("watch", "keep watching: history, verdicts, metrics"),
    "whatif": ("whatif", "failures, link load and hashing on the model"),
    "audit": ("audit", "probe the paths between hosts"),
    "where": ("where", "find a node, NIC, port, address or label"),
    "explain": ("explain", "what a finding means and what to do"),
    "hold": ("hold", "keep state made by hand, with reason and end"),
    "release": ("release", "end a hold"),
    "trust": ("trust", "enrol host keys and identities on purpose"),
    "adopt": ("adopt", "fill the ledger from a running fabric"),
    "platform": ("platform", "list, show and import switch models"),
    "schema": ("schema", "JSON Schema of intents, for editors"),
    "init": ("init", "start a new intent"),
    "lab": ("lab", "the twin: up, down, status, fault, exec"),
}


class _Verbs(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return [verb for verb, (module, _) in VERBS.items() if (Path(__file__).parent / f"{module}.py").exists()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"fabric.cli.{VERBS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        verbs = self.list_commands(ctx)
        if name not in verbs and not name.startswith("-"):
            near = difflib.get_close_matches(name, verbs, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(verbs)}"
            ctx.fail(f"no verb {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(verb, VERBS[verb][1]) for verb in self.list_commands(ctx)])


@click.command(cls=_Verbs, subcommand_metavar="VERB ...", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="railfab", prog_name="railfab")
def railfab() -> None:
    """Model, generate, push and check rail-optimized GPU fabrics on SONiC.

    Exit codes: 0 healthy, 1 findings, 2 could not tell or bad usage, 3 an internal error.
    """


def call(arguments: list[str]) -> int:
    """Run a verb; return its exit code. Bad usage is printed and is 2; anything else a verb raises goes through."""
    try:
        # Not click's own `main`: it turns a reader that went away into exit 1, which means findings here.
        instruction = os.environ.get("_RAILFAB_COMPLETE")
        if instruction:
            from click.shell_completion import shell_complete

            return shell_complete(railfab, {}, "railfab", "_RAILFAB_COMPLETE", instruction)
        with railfab.make_context("railfab", list(arguments)) as context:
            code = railfab.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.Abort as stop:
        if isinstance(stop.__context__, EOFError):
            # A question nobody is there to answer, as in a pipeline: no signal ended us, and nothing was done.
            click.echo("\nrailfab: nobody answered; nothing was done; --yes agrees beforehand", err=True)
            return 2
        click.echo("railfab: stopped", err=True)
        return 130
    except click.ClickException as error:
        error.show()
        return 2
    return code if isinstance(code, int) else 0
