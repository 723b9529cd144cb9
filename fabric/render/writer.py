"""Write a folder: device by device, each file whole or not at all, the same bytes each time."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson

from fabric.errors import InputError, Problem, RenderError
from fabric.render import policy
from fabric.render.bgp import limits
from fabric.render.hosts import HostRenderer
from fabric.render.order import natural
from fabric.render.switch import render_switch
from fabric.values.device_config import Tables
from fabric.values.ownership import merged
from fabric.values.plan import Plan

_LIST = ".railfab-files"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


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
    running = read_base(base, plan) if base is not None else None
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is a file; give a folder to write to")
    before = _listed(out)
    written: list[str] = []
    with _settled():
        for relative, content in _files(plan, templates, running, chosen):
            place(out / relative, content)
            written.append(relative)
    for stale in before - set(written) if not chosen else ():
        _remove(out, stale)
    everything = sorted(before | set(written) if chosen else written, key=natural)
    place(out / _LIST, "".join(f"{path}\n" for path in everything).encode())
    return tuple(written)


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
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        aside.replace(file)
    except BaseException as error:
        with suppress(OSError):
            aside.unlink()
        if isinstance(error, OSError):
            raise RenderError(f"{file}: cannot be written: {error.strerror}; give a folder that can, with -o") from None
        raise


def _holds(file: Path, content: bytes) -> bool:
    try:
        with file.open("rb", buffering=0) as stream:
            return os.fstat(stream.fileno()).st_size == len(content) and stream.readall() == content
    except OSError:
        return False


def config_json(tables: Tables) -> bytes:
    """config_db.json as bytes: two spaces of indent, order kept, one newline at the end."""
    return orjson.dumps(tables, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read_base(file: Path, plan: Plan) -> tuple[str, Tables]:
    """The running configuration to merge into, and the switch it belongs to (its own hostname)."""
    try:
        tables = orjson.loads(file.read_bytes())
    except OSError as error:
        raise InputError(
            Problem(error.strerror or str(error), "give a config_db.json of the switch", str(file))
        ) from None
    except orjson.JSONDecodeError as error:
        raise InputError(Problem(f"not JSON: {error}", "give a config_db.json of the switch", str(file))) from None
    shaped = isinstance(tables, dict) and all(
        isinstance(rows, dict) and all(isinstance(row, dict) for row in rows.values()) for rows in tables.values()
    )
    if not shaped:
        raise InputError(Problem("not a config_db.json (table -> key -> field)", "take it off the switch", str(file)))
    name = tables.get("DEVICE_METADATA", {}).get("localhost", {}).get("hostname")
    if name not in plan.switches:
        raise InputError(
            Problem(
                f"belongs to {name}, which is no switch of {plan.name}",
                "give the file of one of its switches",
                str(file),
            )
        )
    return name, tables


def _files(
    plan: Plan, templates: Path | None, running: tuple[str, Tables] | None, chosen: frozenset[str]
) -> Iterator[tuple[str, bytes]]:
    for name in sorted(plan.switches, key=natural):
        if chosen and name not in chosen:
            continue
        config = render_switch(plan, name, templates)
        tables = config.tables
        if running is not None and running[0] == name:
            tables = merged(tables, running[1])
        yield f"{name}/config_db.json", config_json(tables)
        if config.frr is not None:
            yield f"{name}/frr.conf", config.frr.encode()
    yield from _host_files(plan, templates, chosen)
    if not chosen:
        text = policy.templates(templates).text(
            "readme.j2", plan=plan, limits=limits(plan.routing), merged=running[0] if running else "", files=_LIST
        )
        yield "README", text.encode()


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
    try:
        listed = (out / _LIST).read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return set()
    return {path for path in listed if path and not path.startswith("/") and ".." not in Path(path).parts}


def _remove(out: Path, relative: str) -> None:
    file = out / relative
    try:
        file.unlink(missing_ok=True)
        with suppress(OSError):
            for folder in file.parents:
                if folder == out:
                    break
                folder.rmdir()
    except OSError as error:
        raise RenderError(f"{file}: is left over from an earlier run and cannot be removed: {error.strerror}") from None
