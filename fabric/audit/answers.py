"""What a prober printed, typed, and joined over hosts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fabric.errors import CollectError

_SCHEMA = "railfab.probe-answers/1"


@dataclass(frozen=True, slots=True)
class Answer:
    """One ICMP answer: who (its address names the ingress cable), after how many milliseconds, and of which kind.

    `kind` is transit (time exceeded), reached (port unreachable) or refused (another unreachable).
    """

    address: str
    milliseconds: float
    kind: str


@dataclass(frozen=True, slots=True)
class Answers:
    """flight -> source port -> ttl -> Answer, or None where every try was lost; `silent`: host -> why."""

    flights: Mapping[str, Mapping[int, Mapping[int, Answer | None]]]
    sent: int = 0
    silent: Mapping[str, str] = field(default_factory=dict)


def read_answers(text: str, source: str) -> Answers:
    """Parse a prober's output. CollectError when it is not one; `source` is a host or file name, for the message."""
    try:
        document = json.loads(text)
        if document["schema"] != _SCHEMA:
            raise CollectError(f"{source}: schema is {document['schema']!r}, expected {_SCHEMA!r}")
        flights: dict[str, dict[int, dict[int, Answer | None]]] = {}
        for flight, port, ttl, address, milliseconds, kind in document["answers"]:
            answer = Answer(str(address), float(milliseconds), str(kind))
            flights.setdefault(str(flight), {}).setdefault(int(port), {})[int(ttl)] = answer
        for flight, port, ttl in document["lost"]:
            flights.setdefault(str(flight), {}).setdefault(int(port), {}).setdefault(int(ttl), None)
        return Answers(flights, int(document["sent"]))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise CollectError(f"{source}: this is not what the prober prints ({error}); run the audit again") from None


def join_answers(parts: Iterable[Answers]) -> Answers:
    """Answers of several hosts as one."""
    flights: dict[str, Mapping[int, Mapping[int, Answer | None]]] = {}
    silent: dict[str, str] = {}
    sent = 0
    for part in parts:
        flights.update(part.flights)
        silent.update(part.silent)
        sent += part.sent
    return Answers(flights, sent, silent)
