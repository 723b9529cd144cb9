"""Snapshot files: typed JSON (`.json`, `.json.gz`), and the raw answers beside it (`.raw.zip`).

The schema is `railfab.snapshot/1` (docs/collect.md): fields may be added; a reader takes what it knows.
"""

from __future__ import annotations

import gc
import gzip
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from fabric.collect.gather import Raw
from fabric.errors import InputError, Problem
from fabric.values.codec import decode, plain
from fabric.values.snapshot import Snapshot

_RAW_SCHEMA = "railfab.raw/1"
# A snapshot of 3,840 switches is some gigabytes of JSON; more than this is a bomb or not a snapshot.
_LARGEST_BYTES = 8 * 1024**3


def raw_path(snapshot: Path) -> Path:
    """Where the raw answers of a snapshot file stand: `NAME.raw.zip` beside `NAME.json` or `NAME.json.gz`."""
    return snapshot.with_name(f"{_stem(snapshot)}.raw.zip")


def before_path(snapshot: Path) -> Path:
    """Where the first sample of a window stands: `NAME.before.json` beside `NAME.json`, `.gz` like it."""
    return snapshot.with_name(f"{_stem(snapshot)}.before.json{'.gz' if snapshot.suffix == '.gz' else ''}")


def _stem(snapshot: Path) -> str:
    return snapshot.name.removesuffix(".gz").removesuffix(".json")


def write(path: Path, snapshot: Snapshot) -> None:
    """Write a snapshot; gzip when the name ends in `.gz`. Whole or not at all. InputError when it cannot be written."""
    import orjson

    data = orjson.dumps(snapshot, default=plain)
    packed = gzip.compress(data, 3, mtime=0) if path.suffix == ".gz" else data + b"\n"
    _whole(path, lambda file: file.write(packed))


def read(path: Path) -> Snapshot:
    """Read a snapshot file. InputError names the file and what is wrong with it."""
    import orjson

    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = _unpack(data, path)
    except OSError as error:
        raise InputError(
            Problem(f"cannot be read: {error.strerror}", "give a file that `railfab collect` wrote", file=str(path))
        ) from None
    with _no_cycle_search():
        try:
            document = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise InputError(
                Problem(f"not JSON: {error}", "give a file that `railfab collect` wrote", file=str(path))
            ) from None
        try:
            return decode(Snapshot, document)
        except InputError as error:
            raise InputError(
                [Problem(one.what, one.remedy, file=str(path), path=one.path) for one in error.problems]
            ) from None


@contextmanager
def _no_cycle_search() -> Iterator[None]:
    """Millions of small values without a cycle among them: looking for one is a third of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _unpack(data: bytes, path: Path) -> bytes:
    try:
        unpacker = zlib.decompressobj(wbits=31)
        found = unpacker.decompress(data, _LARGEST_BYTES)
    except zlib.error as error:
        raise InputError(Problem(f"damaged gzip: {error}", "collect again", file=str(path))) from None
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise InputError(Problem("gzip is cut off or too large", "collect again", file=str(path)))
    return found


def write_raw(path: Path, fabric: str, raw: Iterable[Raw]) -> None:
    """Write raw answers: a zip of `DEVICE.out`, `DEVICE.err`, and `index.json`. Whole or not at all."""
    answers = list(raw)

    def fill(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as packed:
            index = [
                {
                    "device": one.device, "kind": one.kind, "taken_at": one.taken_at, "duration_s": one.duration_s,
                    "source": one.source, "token": one.token, "parts": list(one.parts),
                }
                for one in answers
            ]  # fmt: skip
            packed.writestr("index.json", json.dumps({"schema": _RAW_SCHEMA, "fabric": fabric, "answers": index}))
            for number, one in enumerate(answers):
                # Names are numbers: a device's name is no file name we would trust.
                packed.writestr(f"{number}.out", zlib.decompress(one.stdout))
                packed.writestr(f"{number}.err", zlib.decompress(one.stderr))

    _whole(path, fill)


def read_raw(path: Path) -> tuple[str, list[Raw]]:
    """Fabric name and raw answers of a `.raw.zip`. InputError names the file and what is wrong with it."""
    try:
        with zipfile.ZipFile(path) as packed:
            index = json.loads(packed.read("index.json"))
            if index.get("schema") != _RAW_SCHEMA:
                raise InputError(Problem(f"schema is {index.get('schema')!r}", "give a .raw.zip", file=str(path)))
            answers = [
                Raw(
                    device=str(one["device"]),
                    kind=str(one["kind"]),
                    taken_at=float(one["taken_at"]),
                    duration_s=float(one["duration_s"]),
                    source=str(one["source"]),
                    token=str(one["token"]),
                    parts=tuple(map(str, one["parts"])),
                    stdout=zlib.compress(packed.read(f"{number}.out"), 1),
                    stderr=zlib.compress(packed.read(f"{number}.err"), 1),
                )
                for number, one in enumerate(index["answers"])
            ]
            return str(index["fabric"]), answers
    except OSError as error:
        raise InputError(Problem(f"cannot be read: {error.strerror}", file=str(path))) from None
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError, AttributeError, zlib.error, RuntimeError) as error:
        raise InputError(
            Problem(
                f"not raw answers of railfab: {error}", "give a .raw.zip that `railfab collect` wrote", file=str(path)
            )
        ) from None


def _whole(path: Path, fill: Callable[[IO[bytes]], object]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = Path(file.name)
            try:
                fill(file)
                file.flush()
                os.fchmod(file.fileno(), 0o640)
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
    except OSError as error:
        raise InputError(
            Problem(f"cannot be written: {error.strerror}", "give another place with -o", file=str(path))
        ) from None
