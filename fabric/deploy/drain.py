"""Traffic off a spine before it is disturbed, and proof that it has left: counters, not the command's return."""

from __future__ import annotations

import time
from collections.abc import Collection

from fabric.collect import COMMAND, Part, parse_switch, script
from fabric.deploy.hand import Hand
from fabric.errors import CollectError, PushError

# What is left on a drained port is BGP, LLDP and ARP: a few KB a second at most on a port of hundreds of Gb/s.
QUIET_BYTES_A_SECOND = 100_000
SAMPLE_S = 3.0


def drain(hand: Hand, ports: Collection[str], *, patience_s: float = 180.0) -> float:
    """Shift traffic away (SONiC's TSA) and wait until the counters of these ports say that it has left.

    Returns the busiest port's bytes a second at the end. PushError when it has not left in time, or when the counters
    cannot be read: then nobody knows, and nothing may be disturbed.
    """
    answer = hand.ask("shift traffic away (TSA)", "TSA")
    if not answer.ok:
        raise PushError(f"traffic could not be shifted away: {(answer.stderr or answer.stdout).strip()}")
    until = time.monotonic() + patience_s
    before, at = _octets(hand, ports)
    while True:
        time.sleep(SAMPLE_S)
        now, then = _octets(hand, ports)
        rate, busiest = max(
            ((count - before.get(port, count)) / max(0.1, then - at), port) for port, count in now.items()
        )
        if rate < QUIET_BYTES_A_SECOND:
            return rate
        if time.monotonic() > until:
            raise PushError(
                f"traffic has not left after {patience_s:g} s: {busiest} still carries {rate * 8 / 1e6:.1f} Mb/s; "
                "nothing was changed"
            )
        before, at = now, then


def undrain(hand: Hand) -> None:
    """Let traffic come back (TSB). PushError when the switch refuses: it would stay out of the fabric."""
    answer = hand.ask("let traffic come back (TSB)", "TSB")
    if not answer.ok:
        raise PushError(
            f"traffic was not let back (TSB): {(answer.stderr or answer.stdout).strip()}; run `sudo TSB` by hand"
        )


def _octets(hand: Hand, ports: Collection[str]) -> tuple[dict[str, int], float]:
    """Octets in and out of these ports so far, and when they were read."""
    parts = (Part.COUNTERS,)
    answer = hand.ask("read counters", COMMAND, stdin=script(parts).encode(), quiet=True)
    try:
        state = parse_switch(hand.name, answer.stdout, time.time(), errors=answer.stderr, parts=parts)
    except CollectError as error:
        raise PushError(f"its counters cannot be read ({error}), so nobody knows whether traffic has left") from None
    counters = state.counters or {}
    found = {
        port: counters[port].get("IF_IN_OCTETS", 0) + counters[port].get("IF_OUT_OCTETS", 0)
        for port in ports
        if port in counters
    }
    if not found:
        raise PushError(f"its counters say nothing about its fabric ports ({state.hole('counters') or 'no rows'})")
    return found, answer.ended_at or time.time()
