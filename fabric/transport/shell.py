"""Shell text both libraries send: running as root, writing a file. Pure functions; no name reaches a shell unquoted."""

from __future__ import annotations

from pathlib import PurePosixPath
from shlex import quote

from fabric.transport.session import Answer

# Words of sudo when it wants a password that it cannot ask for (sudo 1.8 and 1.9, English; LC_ALL=C is set).
_SUDO_WANTS_PASSWORD = ("a password is required", "no tty present", "a terminal is required")


def as_root(command: str, *, password: bool = False) -> str:
    """The command, run by root: as it is when we are uid 0, else by sudo.

    Without `password` sudo is told never to ask (F110: a prompt is an error, not a hang). With it, sudo reads one
    line from standard input, which the caller puts before the command's own input; it is never an argument.
    """
    inner = f"sh -c {quote(command)}"
    ask = "-S -p ''" if password else "-n"
    as_root = f'if [ "$(id -u)" = 0 ]; then exec {inner}; fi; LC_ALL=C exec sudo {ask} {inner}'
    return f"sh -c {quote(as_root)}"


def wants_password(answer: Answer) -> bool:
    """Whether sudo refused only because it may not ask for a password."""
    return answer.rc == 1 and any(words in answer.stderr for words in _SUDO_WANTS_PASSWORD)


def put_command(path: str, mode: int, token: str) -> str:
    """Write standard input to `path` by way of a neighbour `path.token`, then rename. `path` is absolute."""
    place = PurePosixPath(path)
    if not place.is_absolute():
        raise ValueError(f"{path!r} is not an absolute path")
    beside = quote(str(place.with_name(f"{place.name}.{token}")))
    write = f"cat > {beside} && chmod {mode:o} {beside} && mv -f {beside} {quote(path)}"
    script = f"umask 077; {write} || {{ rc=$?; rm -f {beside}; exit $rc; }}"
    return f"sh -c {quote(script)}"


def decode(data: bytes) -> str:
    """Text of an answer: UTF-8 with replacement, terminal line ends turned into plain ones."""
    return data.decode("utf-8", "replace").replace("\r\n", "\n")
