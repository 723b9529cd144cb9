"""Entry point of the `railfab` command.

Standard library only at import: whatever is broken - a missing library, a clash of packages, a bug - ends here, as a
message and an exit code. Ours as their message and code; anything else as exit 3 with one line and the place of the
details. The verbs stand in `fabric.cli.verbs`.
"""

from __future__ import annotations

import os
import sys


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit with its code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run the command; return its exit code. Raises nothing but SystemExit of a verb that asks for it."""
    try:
        from fabric.cli.clash import clash

        problem = clash()
        if problem:
            _say(problem)
            return 2
        from fabric.cli.verbs import call

        code = call(arguments)
        # What is still in the buffer must find its reader gone here, not while Python shuts down.
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        _say("stopped by Ctrl-C")
        return 130
    except BrokenPipeError:
        # The reader of our pipe went away (`railfab check | head`): not an error of anybody.
        _close_stdout()
        return 141
    except Exception as error:
        return _failed(error)


def _say(line: str) -> None:
    try:
        print(f"railfab: {line}", file=sys.stderr)
    except OSError:
        # Nobody reads our errors; the exit code still tells.
        return


def _close_stdout() -> None:
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.close(devnull)


def _failed(error: Exception) -> int:
    try:
        from fabric.errors import RailfabError
    except Exception as broken:
        _say(f"internal error: {type(broken).__name__}: {broken} (the package itself is broken; reinstall railfab)")
        return 3
    if isinstance(error, RailfabError):
        for line in str(error).splitlines() or [type(error).__name__]:
            _say(line)
        return error.exit_code
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        # The machine refused a file or folder somebody named: no fault of ours, and the message says which.
        _say(f"{error.filename}: {error.strerror}; check the path, its owner and the space left, or give --state DIR")
        return 2
    _say(f"internal error: {_first_line(error)} ({_keep_details(error)}; please report them)")
    return 3


def _first_line(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}".strip()
    return text.splitlines()[0]


def _keep_details(error: Exception) -> str:
    import tempfile
    import traceback

    try:
        with tempfile.NamedTemporaryFile("w", prefix="railfab-error-", suffix=".txt", delete=False) as details:
            traceback.print_exception(error, file=details)
        return f"details: {details.name}"
    except OSError as refused:
        place = traceback.extract_tb(error.__traceback__)[-1] if error.__traceback__ else None
        where = f"{place.filename}:{place.lineno}" if place else "nowhere"
        return f"no details kept: {refused.strerror}; raised at {where}"
