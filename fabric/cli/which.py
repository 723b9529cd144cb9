"""Which intent a verb is about when it is not an argument. No verb of its own."""

from __future__ import annotations

from pathlib import Path

INTENT_HELP = "The fabric's intent; else RAILFAB_INTENT, else the only one with state here."


def intent_of(given: Path | None) -> Path:
    """The intent given, or the only one whose state (`.railfab/NAME`) stands in this folder or in topology/."""
    from fabric.errors import InputError, Problem

    if given is not None:
        return given
    found = [
        folder / f"{state.name}.yaml"
        for folder in (Path(), Path("topology"))
        if (folder / ".railfab").is_dir()
        for state in sorted((folder / ".railfab").iterdir())
        if (folder / f"{state.name}.yaml").is_file()
    ]
    if len(found) == 1:
        return found[0]
    what = "no intent with state is here" if not found else f"several are here: {', '.join(map(str, found))}"
    raise InputError(Problem(what, "give --intent FILE or set RAILFAB_INTENT"))
