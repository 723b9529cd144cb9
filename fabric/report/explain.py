"""The catalogue of codes for people and scripts: checks' and lint's together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fabric.checks.catalogue import CATALOGUE, Entry


def codes() -> Mapping[str, Entry]:
    """Every code there is."""
    from fabric.lint.codes import CODES

    lint = {name: Entry(code.title, code.meaning, (code.verify,), code.remedy) for name, code in CODES.items()}
    return {**lint, **CATALOGUE}


def lines_of(code: str) -> Iterator[str]:
    """One entry as text."""
    entry = codes()[code]
    yield f"{code}: {entry.title}"
    yield ""
    yield entry.meaning
    yield ""
    yield "See it by hand:"
    for command in entry.verify:
        yield f"  {command}"
    yield ""
    yield f"What to do: {entry.remedy}"


def document_of(wanted: list[str]) -> dict[str, Any]:
    """railfab.explain/1."""
    known = codes()
    return {
        "schema": "railfab.explain/1",
        "codes": [
            {
                "code": name,
                "title": known[name].title,
                "meaning": known[name].meaning,
                "verify": list(known[name].verify),
                "remedy": known[name].remedy,
            }
            for name in wanted
        ],
    }
