"""Redis over its UNIX socket, as little as the agent needs: pipelines, and a subscription.

Calls block; the server is on this machine and answers in microseconds. A dead one is a ConnectionError.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

CRLF = b"\r\n"
Word = str | bytes | int


class RedisError(Exception):
    """Redis answered with an error."""


class Redis:
    """One connection to one database number."""

    def __init__(self, path: str, database: int = 0, timeout_s: float = 10.0) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self.socket.settimeout(timeout_s)
        self.socket.connect(path)
        self._buffer = bytearray()
        if database:
            self.run("SELECT", database)

    def close(self) -> None:
        """Close the connection."""
        self.socket.close()

    def run(self, *words: Word) -> Any:
        """One command, one answer: int, str, list, None. RedisError for an error answer."""
        return self.pipeline([words])[0]

    def pipeline(self, commands: Iterable[Sequence[Word]]) -> list[Any]:
        """Many commands in one go; RedisError with the first error answer."""
        encoded = [encode(command) for command in commands]
        if not encoded:
            return []
        answers: list[Any] = []
        # In portions, so that neither side waits for the other with full buffers.
        for start in range(0, len(encoded), 256):
            portion = encoded[start : start + 256]
            self.socket.sendall(b"".join(portion))
            while len(answers) < start + len(portion):
                answers.extend(self.answers())
        for answer in answers:
            if isinstance(answer, RedisError):
                raise answer
        return answers

    def answers(self) -> Iterator[Any]:
        """Answers that can be read now (at least one; waits for it). ConnectionError when the server is gone."""
        while True:
            place, found = 0, []
            while (taken := _take(self._buffer, place)) is not None:
                answer, place = taken
                found.append(answer)
            del self._buffer[:place]
            if found:
                yield from found
                return
            chunk = self.socket.recv(1 << 18)
            if not chunk:
                raise ConnectionError("redis has closed the connection")
            self._buffer += chunk

    def scan(self, pattern: str) -> list[str]:
        """Keys that match; for the small databases of one switch KEYS is all right."""
        return list(self.run("KEYS", pattern))

    def tables(self) -> dict[str, dict[str, str]]:
        """Every hash of the database: key -> fields."""
        keys = self.scan("*|*")
        rows = self.pipeline([("HGETALL", key) for key in keys])
        return {key: dict(zip(row[::2], row[1::2])) for key, row in zip(keys, rows)}


def encode(words: Sequence[Word]) -> bytes:
    """A command in RESP."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


def _take(buffer: bytearray, place: int) -> tuple[Any, int] | None:
    """One answer from `place` on and where the next begins; None when it is not complete yet."""
    end = buffer.find(CRLF, place)
    if end < 0:
        return None
    kind, head, rest = buffer[place : place + 1], bytes(buffer[place + 1 : end]), end + 2
    if kind == b"+":
        return head.decode(), rest
    if kind == b"-":
        return RedisError(head.decode()), rest
    if kind == b":":
        return int(head), rest
    length = int(head)
    if length < 0:
        return ([] if kind == b"*" else None), rest
    if kind == b"$":
        if len(buffer) < rest + length + 2:
            return None
        return bytes(buffer[rest : rest + length]).decode(errors="surrogateescape"), rest + length + 2
    items: list[Any] = []
    for _ in range(length):
        taken = _take(buffer, rest)
        if taken is None:
            return None
        item, rest = taken
        items.append(item)
    return items, rest
