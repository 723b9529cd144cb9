"""Another distribution is also imported as `fabric` (the SSH library) and overwrites files of ours.

This check stands in `fabric/cli/`, a folder the other one does not have, so it survives the overwriting.
"""

from __future__ import annotations

import sys
from pathlib import Path

# The first line of our fabric/__init__.py. The other distribution's file does not start like this.
_MARKER = '"""railfab:'


def clash() -> str | None:
    """What is wrong with the installation and what to do, or None."""
    package = Path(__file__).resolve().parent.parent
    try:
        ours = (package / "__init__.py").read_text(encoding="utf-8").startswith(_MARKER)
    except OSError:
        ours = False
    other = any(
        next(Path(entry).glob("[fF]abric-[0-9]*.dist-info"), None) is not None
        for entry in {str(package.parent), *sys.path}
        if entry and Path(entry).is_dir()
    )
    if ours and not other:
        return None
    what = "the distribution `fabric` is installed" if other else "fabric/__init__.py is not railfab's"
    return (
        f"{what}: it shares the import name `fabric` with railfab and one overwrites the other; "
        "run `pip uninstall fabric` and `pip install --force-reinstall --no-deps railfab`, "
        "or keep railfab in a virtual environment of its own"
    )
