"""Dataclasses to plain JSON values and back, by their type hints.

Decoding is strict about types and tolerant about fields: a missing field takes its default (older file), an
unknown field is ignored (newer file), a wrong type or a wrong `schema` is an error with the key path.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from fabric.errors import InputError, Problem

T = TypeVar("T")
# Given the value and its key path. Path None: do not spend time on one; a wrong value is decoded again with it.
_Decoder = Callable[[Any, str | None], Any]


def plain(value: Any) -> Any:
    """Turn a value into what `json` can write: dict, list, str, int, float, bool, None. Absent is null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: plain(getattr(value, name)) for name in _field_names(type(value))}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    return value


def dumps(value: Any) -> str:
    """JSON text of a value, two spaces of indent, one newline at the end, field order as declared."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False) + "\n"


def decode(kind: type[T], data: Any, where: str = "") -> T:
    """Build a `kind` from plain JSON values; InputError names the key path of what does not fit."""
    decoder: _Decoder = _decoder(kind)  # type: ignore[arg-type]
    result: T
    try:
        result = decoder(data, None)
    except InputError:
        result = decoder(data, where)
    return result


def loads(kind: type[T], text: str | bytes, source: str) -> T:
    """Parse JSON text from `source` (a file name, for messages) into a `kind`."""
    try:
        data = json.loads(text)
    except (ValueError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(Problem(f"not JSON: {error}", "give the file that railfab wrote", file=source)) from None
    try:
        return decode(kind, data)
    except InputError as error:
        raise InputError([dataclasses.replace(problem, file=source) for problem in error.problems]) from None


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def _wrong(where: str | None, expected: str, data: Any) -> InputError:
    seen = type(data).__name__ if data is not None else "null"
    return InputError(Problem(f"expected {expected}, found {seen}", path=where or "(top)"))


def _scalar(kind: type) -> _Decoder:
    accepted: tuple[type, ...] = (int, float) if kind is float else (kind,)

    def read(data: Any, where: str | None) -> Any:
        if type(data) is kind:
            return data
        if not isinstance(data, accepted) or (isinstance(data, bool) and kind is not bool):
            raise _wrong(where, kind.__name__, data)
        return kind(data)

    return read


def _enum(kind: type[enum.Enum]) -> _Decoder:
    def read(data: Any, where: str | None) -> Any:
        try:
            return kind(data)
        except ValueError:
            names = ", ".join(str(member.value) for member in kind)
            raise InputError(Problem(f"{data!r} is not one of {names}", path=where)) from None

    return read


def _sequence(item: _Decoder, build: Callable[[list[Any]], Any]) -> _Decoder:
    def read(data: Any, where: str | None) -> Any:
        if not isinstance(data, (list, tuple)):
            raise _wrong(where, "a list", data)
        if where is None:
            return build([item(entry, None) for entry in data])
        return build([item(entry, f"{where}[{index}]") for index, entry in enumerate(data)])

    return read


def _mapping(key: _Decoder, item: _Decoder, plain_keys: bool) -> _Decoder:
    def read(data: Any, where: str | None) -> Any:
        if not isinstance(data, Mapping):
            raise _wrong(where, "an object", data)
        if where is None:
            if plain_keys and all(isinstance(name, str) for name in data):
                return {name: item(entry, None) for name, entry in data.items()}
            return {key(name, None): item(entry, None) for name, entry in data.items()}
        return {
            key(name, where): item(entry, f"{where}.{name}" if where else str(name)) for name, entry in data.items()
        }

    return read


def _key(kind: Any) -> _Decoder:
    if kind is not int:
        return _decoder(kind)

    def read(data: Any, where: str | None) -> Any:
        try:
            return int(data)
        except (TypeError, ValueError):
            raise _wrong(where, "a whole number as key", data) from None

    return read


def _union(options: tuple[Any, ...]) -> _Decoder:
    rest = [option for option in options if option is not types.NoneType]
    decoders = [_decoder(option) for option in rest]
    optional = len(rest) < len(options)
    exact = frozenset(option for option in rest if option in (str, int, float, bool))

    def read(data: Any, where: str | None) -> Any:
        if data is None and optional:
            return None
        if type(data) in exact:
            return data
        first: InputError | None = None
        for decoder in decoders:
            try:
                return decoder(data, where)
            except InputError as error:
                first = first or error
        raise first or _wrong(where, "null", data)

    return read


@cache
def _fields(kind: type) -> tuple[tuple[str, _Decoder, bool], ...]:
    """Name, decoder and "is required" of each field. Found on first use: a Finding holds Findings."""
    hints = get_type_hints(kind)
    return tuple(
        (
            field.name,
            _decoder(hints[field.name]),
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(kind)
        if field.init
    )


def _dataclass(kind: type) -> _Decoder:
    expected_schema = next((f.default for f in dataclasses.fields(kind) if f.name == "schema"), None)

    def read(data: Any, where: str | None) -> Any:
        if not isinstance(data, Mapping):
            raise _wrong(where, f"an object ({kind.__name__})", data)
        if expected_schema is not None and data.get("schema") != expected_schema:
            seen = data.get("schema")
            raise InputError(
                Problem(
                    f"schema is {seen!r}, expected {expected_schema!r}",
                    "make the file again with this version of railfab, or give the right kind of file",
                    path=where or "schema",
                )
            )
        values: dict[str, Any] = {}
        for name, decoder, required in _fields(kind):
            path = None if where is None else f"{where}.{name}" if where else name
            if name in data:
                values[name] = decoder(data[name], path)
            elif required:
                raise InputError(Problem("is missing", path=path))
        return kind(**values)

    return read


@cache
def _decoder(kind: Any) -> _Decoder:
    if kind is Any or kind is object:
        return lambda data, _where: data
    if kind in (str, int, float, bool):
        return _scalar(kind)
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _union(args)
    if origin is typing.Literal:
        allowed = args

        def read(data: Any, where: str | None) -> Any:
            if data not in allowed:
                raise InputError(Problem(f"{data!r} is not one of {', '.join(map(str, allowed))}", path=where))
            return data

        return read
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return _sequence(_decoder(args[0]), tuple)
        parts = [_decoder(arg) for arg in args]

        def read_fixed(data: Any, where: str | None) -> Any:
            if not isinstance(data, (list, tuple)) or len(data) != len(parts):
                raise _wrong(where, f"a list of {len(parts)}", data)
            if where is None:
                return tuple(part(entry, None) for part, entry in zip(parts, data))
            return tuple(part(entry, f"{where}[{index}]") for index, (part, entry) in enumerate(zip(parts, data)))

        return read_fixed
    if origin is list:
        return _sequence(_decoder(args[0]), list)
    if origin is frozenset:
        return _sequence(_decoder(args[0]), frozenset)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(_key(args[0]), _decoder(args[1]), args[0] is str)
    if kind is types.NoneType:
        return _union((types.NoneType,))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _enum(kind)
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind)  # type: ignore[arg-type]
    raise TypeError(f"no decoder for {kind!r}")
