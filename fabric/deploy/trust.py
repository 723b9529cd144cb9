"""Enrolling on purpose: host keys into known_hosts, identity (serial, base MAC) into the ledger.

Nothing here happens by itself: a key seen for the first time is shown with its fingerprint and enrolled only when a
person, or `--yes` on a network that is trusted, says so. A key that changed is enrolled only when its switch is named.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from fabric.deploy.reading import Reading
from fabric.errors import TransportError
from fabric.transport import host_keys
from fabric.transport.host_keys import HostKey
from fabric.transport.session import Target
from fabric.values.plan import Plan


class KeyState(StrEnum):
    """How what a switch offers stands to what is enrolled."""

    KNOWN = "known"
    NEW = "new"
    CHANGED = "changed"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Offer:
    """Keys one switch offers. `error` says why there are none."""

    device: str
    address: str
    port: int
    state: KeyState
    keys: tuple[HostKey, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Learned:
    """What a switch says it is, against what the ledger has. `changed` holds the ledger's other value by name."""

    device: str
    serial: str | None
    base_mac: str | None
    new: bool
    changed: Mapping[str, str]


def offers(
    targets: Mapping[str, Target], known_hosts: Path, port: int, found: Mapping[str, list[HostKey] | TransportError]
) -> list[Offer]:
    """What each switch offers against what is enrolled. A switch with one known key and no contradiction is known."""
    result = []
    for name, target in targets.items():
        answer = found[name]
        at = target.port or port
        if isinstance(answer, TransportError):
            result.append(Offer(name, target.address, at, KeyState.UNREACHABLE, error=str(answer)))
            continue
        enrolled = host_keys.enrolled(known_hosts, target.address, at)
        known = {(key.kind, key.blob) for key in enrolled}
        kinds = {key.kind for key in enrolled}
        contradicted = any(key.kind in kinds and (key.kind, key.blob) not in known for key in answer)
        agreed = any((key.kind, key.blob) in known for key in answer)
        state = (
            KeyState.CHANGED
            if contradicted or (enrolled and not agreed)
            else KeyState.KNOWN
            if agreed
            else KeyState.NEW
        )
        result.append(Offer(name, target.address, at, state, tuple(answer)))
    return result


def enrol(known_hosts: Path, chosen: Sequence[Offer]) -> None:
    """Put the keys of these offers into the file; of a changed one the old keys go."""
    plain = [(offer.address, offer.port, key) for offer in chosen if offer.state is KeyState.NEW for key in offer.keys]
    changed = [
        (offer.address, offer.port, key) for offer in chosen if offer.state is KeyState.CHANGED for key in offer.keys
    ]
    if changed:
        host_keys.enrol(known_hosts, changed, replace=True)
    if plain:
        host_keys.enrol(known_hosts, plain)


def learned(plan: Plan, readings: Mapping[str, Reading]) -> list[Learned]:
    """Serial and base MAC of each switch that was read, against the ledger's."""
    result = []
    for name, reading in readings.items():
        switch, state = plan.switches[name], reading.state
        changed = {
            what: before
            for what, before, now in (
                ("serial", switch.serial, state.serial),
                ("base_mac", switch.base_mac and switch.base_mac.lower(), state.base_mac and state.base_mac.lower()),
            )
            if before and now and before != now
        }
        new = bool((state.serial and not switch.serial) or (state.base_mac and not switch.base_mac))
        result.append(Learned(name, state.serial, state.base_mac, new, changed))
    return result


def duplicates(found: Sequence[Learned]) -> dict[str, list[str]]:
    """Serials and MACs that more than one switch claims: one box answering at two addresses."""
    claims: dict[str, list[str]] = {}
    for one in found:
        for value in (one.serial, one.base_mac):
            if value:
                claims.setdefault(value, []).append(one.device)
    return {value: names for value, names in claims.items() if len(names) > 1}


def remember(ledger_file: Path, found: Sequence[Learned], renew: Collection[str] = ()) -> list[str]:
    """Write identities into the ledger; what is there stays unless its switch is in `renew`. The names written."""
    from fabric.allocate import ledger as ledgers

    ledger = ledgers.read(ledger_file)
    identities: dict[str, Any] = dict(ledger.identities)
    written = []
    for one in found:
        if not (one.serial or one.base_mac) or (one.changed and one.device not in renew):
            continue
        there = identities.get(one.device) or ledgers.Identity()
        again = one.device in renew
        then = replace(
            there,
            serial=one.serial if again else there.serial or one.serial,
            base_mac=one.base_mac if again else there.base_mac or one.base_mac,
        )
        if then != there:
            identities[one.device] = then
            written.append(one.device)
    if written:
        ledgers.write(replace(ledger, identities=identities), ledger_file)
    return written
