"""Node lists in Slurm's syntax: `gpu[001-032],gpu040`.

python-hostlist follows Slurm closest (padding, several brackets, commas inside and outside); it is GPL-2+, used as
it is through its documented interface. What it lets through and Slurm does not is refused here.
"""

from __future__ import annotations

import re

from fabric.errors import InputError, Problem

MOST = 100_000
# Characters of a Slurm node list; `@file`, `*` and `!` of other tools are none of them.
_ALLOWED = re.compile(r"^[A-Za-z0-9_.,\-\[\]]+$")
# `a[1-2]b` is an "Invalid hostlist" for scontrol 22.05, `a[1-2]b[3-4]` is fine.
_SUFFIX = re.compile(r"\][^,\[\]]+(,|$)")
_DIGITS = 18


def expand(text: str) -> tuple[str, ...]:
    """Names in a node list, each once, in the order given.

    InputError when the text is empty, not Slurm's syntax, or names more than 100,000 nodes.
    """
    squeezed = ",".join(text.split())
    if not squeezed:
        raise InputError(Problem("the node list is empty", "give --nodes 'gpu[001-004]'"))
    if not _ALLOWED.match(squeezed):
        odd = "".join(sorted(set(re.sub(r"[A-Za-z0-9_.,\-\[\]]", "", squeezed))))
        raise InputError(
            Problem(f"node list {text!r} holds {odd!r}", "Slurm knows names, commas, [001-032] and dashes")
        )
    if _SUFFIX.search(squeezed):
        raise InputError(Problem(f"node list {text!r}: text after the last bracket", "Slurm takes no such list either"))
    if any(len(digits) > _DIGITS for digits in re.findall(r"\d+", squeezed)):
        raise InputError(Problem(f"node list {text!r} holds a number of more than {_DIGITS} digits", "shorten it"))
    import hostlist

    try:
        names = hostlist.expand_hostlist(squeezed, allow_duplicates=True)
    except hostlist.BadHostlist as error:
        raise InputError(Problem(f"node list {text!r}: {error}", "write it as Slurm does: gpu[001-004,010]")) from None
    if len(names) > MOST:
        raise InputError(Problem(f"node list {text!r} names {len(names):,} nodes", f"at most {MOST:,} are allowed"))
    found = tuple(dict.fromkeys(name for name in names if name))
    if not found:
        raise InputError(Problem(f"node list {text!r} names nobody", "give --nodes 'gpu[001-004]'"))
    return found
