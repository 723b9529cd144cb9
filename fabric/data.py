"""Where the data that ships with railfab stands: `templates`, `topology`, `inventory`.

In an installed wheel they are inside the package (`fabric/_data/`); in a source tree or an editable install they
are the top-level folders beside the package. This is the only place that knows.
"""

from __future__ import annotations

from pathlib import Path

from fabric.errors import MissingPartError

_PACKAGE = Path(__file__).resolve().parent


def locate(folder: str) -> Path:
    """Absolute path of a data folder: `templates`, `topology` or `inventory`. MissingPartError when it is nowhere."""
    for candidate in (_PACKAGE / "_data" / folder, _PACKAGE.parent / folder):
        if candidate.is_dir():
            return candidate
    raise MissingPartError(f"{folder}/ is neither in the installed package nor beside it; reinstall railfab")
