"""Write a folder: device by device, each file whole or not at all, the same bytes each time, one writer at a time."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson

from fabric.errors import InputError, RenderError
from fabric.files import turn
from fabric.render import policy
from fabric.render.base import read_base, refuse_bad_values
from fabric.render.bgp import limits
from fabric.render.hosts import HostRenderer
from fabric.render.order import natural
from fabric.render.switch import render_switch
from fabric.values.device_config import Tables
from fabric.values.ownership import merged
from fabric.values.plan import Plan

_README = "README"
_LIST = ".railfab-files"
_JOURNAL = ".railfab-files.new"
# Never through a symbolic link, and never into a file that is there.
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def write(
    plan: Plan,
    out: Path,
    *,
    templates: Path | None = None,
    base: Path | None = None,
    only: Iterable[str] = (),
) -> tuple[str, ...]:
    """Write every switch (`config_db.json`, `frr.conf`) and host of the Plan below `out`; return the paths written.

    Paths are relative to `out`, in the order written. `only` names devices; then nothing else is touched. `base` is
    a switch's running config_db.json: that switch's file becomes the merged whole. Files of an earlier run that this
    Plan no longer has are removed, and nothing else in `out` is. RenderError, InputError: nothing of that device was
    written.
    """
    chosen = frozenset(only)
    unknown = chosen - plan.switches.keys() - plan.hosts.keys()
    if unknown:
        raise InputError(f"{', '.join(sorted(unknown))}: no such switch or host in plan {plan.name}")
    _names_apart(plan)
    running = read_base(base, plan) if base is not None else None
    if running is not None and base is not None:
        name, tables = running
        whole = merged(render_switch(plan, name, templates).tables, tables)
        refuse_bad_values(base, whole)
        running = name, whole
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is a file; give a folder to write to")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot(out, error) from None
    with turn(out):
        return _write(plan, out, templates, running, chosen)


def _write(
    plan: Plan, out: Path, templates: Path | None, running: tuple[str, Tables] | None, chosen: frozenset[str]
) -> tuple[str, ...]:
    before = _listed(out)
    written: list[str] = []
    with _settled(), _Journal(out, before) as journal:
        for relative, content in _files(plan, templates, running, chosen):
            journal.note(relative)
            place(out / relative, content)
            written.append(relative)
        for stale in before - set(written) if not chosen else ():
            _remove(out, stale)
        everything = sorted(before | set(written) if chosen else written, key=natural)
        place(out / _LIST, "".join(f"{path}\n" for path in everything).encode())
        journal.done()
    return tuple(written)


def _names_apart(plan: Plan) -> None:
    """Refuse device names that are those of our own files and folders."""
    taken = {_README, *(f"class-{host.host_class}" for host in plan.hosts.values())}
    for name in sorted(taken & (plan.switches.keys() | plan.hosts.keys())):
        raise InputError(f"{name}: a device of this name would lie where railfab puts {name} itself; name it otherwise")


class _Journal:
    """Notes each new file before it is written, so that what a killed run left is known to the next one."""

    def __init__(self, out: Path, known: set[str]) -> None:
        self._file = out / _JOURNAL
        self._known = known
        self._handle: int | None = None

    def __enter__(self) -> _Journal:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            os.close(self._handle)

    def note(self, relative: str) -> None:
        if relative in self._known:
            return
        try:
            if self._handle is None:
                self._handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
            os.write(self._handle, f"{relative}\n".encode())
        except OSError as error:
            raise _cannot(self._file, error) from None

    def done(self) -> None:
        """The list names everything: the notes are no longer needed."""
        with suppress(OSError):
            self._file.unlink(missing_ok=True)


@contextmanager
def _settled() -> Iterator[None]:
    """Keep the collector from walking the whole Plan again and again: a big one is most of the heap and stays."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def place(file: Path, content: bytes) -> None:
    """Put a file in place whole: written beside it, then renamed over it. The same content already there stays."""
    if _holds(file, content):
        return
    aside = file.with_name(f".{file.name}.new")
    try:
        try:
            handle = os.open(aside, _NEW, 0o644)
        except FileNotFoundError:
            # Folders are most of the cost of a host: os.makedirs tries the missing ones top down, Path.mkdir bottom up.
            os.makedirs(file.parent, exist_ok=True)  # noqa: PTH103
            handle = os.open(aside, _NEW, 0o644)
        except FileExistsError:
            # Left by a run that was killed (nobody else writes: `turn`), or a link that leads elsewhere.
            aside.unlink()
            handle = os.open(aside, _NEW, 0o644)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        aside.replace(file)
    except BaseException as error:
        with suppress(OSError):
            aside.unlink()
        if isinstance(error, OSError):
            raise _cannot(file, error) from None
        raise


def _cannot(file: Path, error: OSError) -> RenderError:
    return RenderError(f"{file}: cannot be written: {error.strerror or error}; give a folder that can, with -o")


def _holds(file: Path, content: bytes) -> bool:
    try:
        with file.open("rb", buffering=0) as stream:
            return os.fstat(stream.fileno()).st_size == len(content) and stream.readall() == content
    except OSError:
        return False


def config_json(tables: Tables) -> bytes:
    """config_db.json as bytes: two spaces of indent, order kept, one newline at the end."""
    return orjson.dumps(tables, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _files(
    plan: Plan, templates: Path | None, running: tuple[str, Tables] | None, chosen: frozenset[str]
) -> Iterator[tuple[str, bytes]]:
    for name in sorted(plan.switches, key=natural):
        if chosen and name not in chosen:
            continue
        config = render_switch(plan, name, templates)
        yield f"{name}/config_db.json", config_json(running[1] if running and running[0] == name else config.tables)
        if config.frr is not None:
            yield f"{name}/frr.conf", config.frr.encode()
    yield from _host_files(plan, templates, chosen)
    if not chosen:
        text = policy.templates(templates).text(
            "readme.j2", plan=plan, limits=limits(plan.routing), merged=running[0] if running else "", files=_LIST
        )
        yield _README, text.encode()


def _host_files(plan: Plan, templates: Path | None, chosen: frozenset[str]) -> Iterator[tuple[str, bytes]]:
    """Hosts: what a whole class has in common stands once in `class-CLASS`, a host's folder has what is its own."""
    renderer = HostRenderer(plan, policy.templates(templates))
    common: dict[str, Mapping[str, str]] = {}
    placed: set[str] = set()
    for name in sorted(plan.hosts, key=natural):
        own, shared = renderer.parts(name)
        if not shared:
            continue
        host_class = plan.hosts[name].host_class
        alike = common.setdefault(host_class, shared) is shared
        if chosen and name not in chosen:
            continue
        folder = f"class-{host_class}" if alike else name
        for path, text in shared.items() if folder not in placed else ():
            yield f"{folder}/{path}", text.encode()
        placed.add(folder)
        for path, text in own.items():
            yield f"{name}/{path}", text.encode()


def _listed(out: Path) -> set[str]:
    listed: list[str] = []
    for name in (_LIST, _JOURNAL):
        with suppress(OSError, UnicodeDecodeError):
            listed += (out / name).read_text().splitlines()
    return {path for path in listed if path and not path.startswith("/") and ".." not in Path(path).parts}


def _remove(out: Path, relative: str) -> None:
    file = out / relative
    if file.is_dir() and not file.is_symlink():
        return  # not what was written
    try:
        file.unlink(missing_ok=True)
        with suppress(OSError):
            for folder in file.parents:
                if folder == out:
                    break
                folder.rmdir()
    except OSError as error:
        raise RenderError(f"{file}: is left over from an earlier run and cannot be removed: {error.strerror}") from None
