"""Flaps (PHY-04): from counters against a baseline, from `last_down_time`, and restarts told apart (DEV-02).

`flap_count` counts ups and downs since swss start; a flap seen from both ends is one; a restart of a device is no
flap of its ports. Without a baseline and without `last_down_time` nobody can tell.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from fabric.checks.judged import Judged
from fabric.checks.view import Life, Link, View
from fabric.diagnose.claim import Cause, Claim, End
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.snapshot import PortState


@dataclass(slots=True)
class _Seen:
    """What one end says: how many flaps (None: cannot tell), and when it was last down."""

    count: int | None
    when: float | None = None
    restarted: bool = False


def flaps(view: View, judged: Judged) -> None:
    """Judge flaps where they were asked for: with a baseline, or with a window."""
    if view.baseline is None and view.window_s is None:
        view.skip("flaps", "give --window, with --baseline for counts")
        return
    restarted = _restarts(view, judged)
    flapped: list[tuple[Link, int, float | None]] = []
    untold: dict[str, list[Link]] = defaultdict(list)
    for link in view.links:
        if link.life in (Life.PLANNED, Life.KNOWN_DOWN) or view.hold_on(link.a) or view.hold_on(link.b):
            continue
        ends = [_at(view, end, restarted) for end in (link.a, link.b) if end[0] in view.plan.switches]
        known = [(seen.count, seen.when) for seen in ends if seen is not None and seen.count is not None]
        if not known:
            if any(seen is not None for seen in ends):
                untold[link.a[0]].append(link)
            continue
        count = max(count for count, _ in known)
        if count == 0:
            judged.passed += 1
        else:
            times = [when for _, when in known if when is not None]
            flapped.append((link, count, max(times) if times else None))
    for links, count, when, cause in _together(view, flapped, restarted):
        judged.claims.append(_claim(view, links, count, when, cause))
    for device, links in untold.items():
        judged.claims.append(_untold(view, device, links))


def _at(view: View, end: End, restarted: dict[str, float]) -> _Seen | None:
    now = view.port(end)
    if now is None:
        return None
    if view.baseline is not None:
        before = view.port_before(end)
        if before is not None and now.flap_count is not None and before.flap_count is not None:
            return _counted(view, end, before, now, restarted)
    if view.window_s is None:
        return _Seen(None)
    if now.last_down_time is not None:
        start = view.now - view.window_s
        boot = restarted.get(end[0])
        if boot is not None:
            start = max(start, boot + view.limits.boot_grace_s)
        inside = start <= now.last_down_time <= view.now
        return _Seen(1 if inside else 0, now.last_down_time)
    if now.flap_count is not None:
        # The release keeps flap fields, and this port was never down since swss started.
        return _Seen(0)
    return _Seen(None)


def _counted(view: View, end: End, before: PortState, now: PortState, restarted: dict[str, float]) -> _Seen:
    assert now.flap_count is not None
    assert before.flap_count is not None
    if end[0] in restarted or now.flap_count < before.flap_count:
        # Counted anew since swss started; the first up belongs to the start.
        return _Seen(-(-max(0, now.flap_count - 1) // 2), now.last_down_time, restarted=True)
    changes = now.flap_count - before.flap_count
    if changes and _was_inserted(view, end) and changes <= 2:
        return _Seen(0, now.last_down_time)
    return _Seen(-(-changes // 2), now.last_down_time)


def _was_inserted(view: View, end: End) -> bool:
    """Whether a module was put in since the baseline: it bounces once while it starts (F050)."""
    now, before = view.state(end[0]), view.before(end[0])
    if now is None or before is None or now.optics is None or before.optics is None:
        return False
    new, old = now.optics.get(end[1]), before.optics.get(end[1])
    if new is None or not new.present:
        return False
    return old is None or old.present is False or (bool(new.serial) and new.serial != old.serial)


def _restarts(view: View, judged: Judged) -> dict[str, float]:
    """Switches that restarted since the baseline (or inside the window): when, and one claim each."""
    since = view.baseline.ended_at if view.baseline is not None else view.now - (view.window_s or 0.0)
    found: dict[str, float] = {}
    for name in view.plan.switches:
        state = view.state(name)
        if state is None:
            continue
        # A restart of the box and a restart of swss (config reload) both count ports anew.
        starts = [state.taken_at - age for age in (state.uptime_s, state.swss_uptime_s) if age is not None]
        recent = [start for start in starts if start > since]
        if not recent:
            continue
        start = min(recent)
        found[name] = start
        if view.scope.holds(name):
            judged.claims.append(_restart(view, name, view.now - start, state.reboot_cause, certain=True))
    return found


def _restart(view: View, device: str, ago_s: float, reason: str | None, certain: bool) -> Claim:
    links = _links_of(view, device)
    is_host = device in view.plan.hosts
    finding = Finding(
        code="DEV-02",
        status=Status.WARN,
        severity=Severity.WARN,
        confidence=Confidence.CERTAIN if certain else Confidence.LIKELY,
        device=None if is_host else device,
        node=device if is_host else None,
        nodes=(device,) if is_host else (),
        expected=f"{device} runs through",
        observed=f"{device} restarted {ago_s:.0f} s ago" + (f" ({reason})" if reason else ""),
        evidence="uptime of the switch" if certain else "all of its links went down once, within a minute",
        remedy=f"if nobody did it on purpose: `show reboot-cause` and the console log of {device}"
        if not is_host
        else f"if nobody did it on purpose: look at the log of {device}",
    )
    return Claim(Cause.RESTART, finding, cables=frozenset(link.name for link in links), devices=frozenset({device}))


def _links_of(view: View, device: str) -> list[Link]:
    names = view.plan.switches[device].ports if device in view.plan.switches else view.plan.hosts[device].nics
    links = (view.of_end.get((device, name)) for name in names)
    return [link for link in links if link is not None and link.life in (Life.SERVICE, Life.INSTALLED)]


def _has_restarted(link: Link, restarted: Collection[str]) -> bool:
    """Whether one of the two devices of a cable is known to have restarted."""
    return link.a[0] in restarted or link.b[0] in restarted


_Event = tuple[list[Link], int, float | None, str | None]


def _together(view: View, flapped: list[tuple[Link, int, float | None]], restarted: Collection[str]) -> list[_Event]:
    """Flaps of all cables of one device within a minute are one restart of that device (F056)."""
    by_device: dict[str, list[tuple[Link, int, float | None]]] = defaultdict(list)
    for entry in flapped:
        for device in {entry[0].a[0], entry[0].b[0]}.difference(restarted):
            by_device[device].append(entry)
    events: list[_Event] = []
    taken: set[str] = set()
    for device in sorted(by_device, key=lambda name: (-len(by_device[name]), name)):
        entries = by_device[device]
        if any(entry[0].name in taken or _has_restarted(entry[0], restarted) for entry in entries):
            continue
        times = [when for _, _, when in entries if when is not None]
        if len(entries) < 3 or len(entries) != len(_links_of(view, device)) or len(times) != len(entries):
            continue
        if max(times) - min(times) <= 60 and all(count == 1 for _, count, _ in entries):
            events.append(([link for link, _, _ in entries], 1, max(times), device))
            taken.update(link.name for link, _, _ in entries)
    events.extend(([link], count, when, None) for link, count, when in flapped if link.name not in taken)
    return events


def _claim(view: View, links: list[Link], count: int, when: float | None, device: str | None) -> Claim:
    if device is not None:
        ago = view.now - (when if when is not None else view.now)
        return _restart(view, device, ago, None, certain=False)
    link = links[0]
    span = view.now - view.baseline.ended_at if view.baseline is not None else view.window_s or 0.0
    many = count >= (view.limits.host_flaps if link.host else view.limits.fabric_flaps_day)
    offender = _repeats(view, link)
    finding = Finding(
        code="PHY-04",
        status=Status.FAIL,
        severity=Severity.BLOCK if (many or offender) and link.life is Life.SERVICE else Severity.WARN,
        confidence=Confidence.CERTAIN,
        device=link.a[0],
        port=link.a[1],
        node=link.b[0] if link.host else None,
        nic=link.b[1] if link.host else None,
        rail=link.rail,
        nodes=(link.b[0],) if link.host else (),
        rails=(link.rail,) if link.rail is not None else (),
        cable=link.name,
        expected=f"{view.name(link.a)} - {view.name(link.b)} stays up",
        observed=f"{count} flap{'s' if count > 1 else ''} in {span:.0f} s"
        + (f", last down {view.now - when:.0f} s ago" if when is not None else ""),
        evidence="; ".join(_evidence(view, link)) + (f"; {offender}" if offender else ""),
        remedy=f"take it out of use first (`sudo config interface shutdown {link.a[1]}` on {link.a[0]}, `railfab hold "
        f"{link.a[0]}:{link.a[1]}`); reseat and clean the plugs in {view.name(link.a)} and {view.name(link.b)}, "
        "then replace cable or module"
        if not link.host
        else f"take {link.b[0]} out of new jobs; reseat and clean the plugs in {view.name(link.a)} and "
        f"{view.name(link.b)}, then replace cable or module",
    )
    return Claim(Cause.FLAP, finding, cables=frozenset({link.name}), devices=frozenset({link.a[0], link.b[0]}))


def _evidence(view: View, link: Link) -> list[str]:
    said = []
    for end in (link.a, link.b):
        state, before = view.port(end), view.port_before(end)
        if state is None:
            continue
        if before is not None and state.flap_count is not None and before.flap_count is not None:
            said.append(f"{view.name(end)}: flap_count {before.flap_count} -> {state.flap_count}")
        elif state.last_down_time is not None:
            said.append(f"{view.name(end)}: last_down_time {view.now - state.last_down_time:.0f} s ago")
    return said


def _repeats(view: View, link: Link) -> str:
    """How often the history saw this cable flap before: memory of repeat offenders."""
    seen = 0
    for earlier, later in itertools.pairwise(view.history):
        for end in (link.a, link.b):
            one, two = (snapshot.switches.get(end[0]) for snapshot in (earlier, later))
            if one is None or two is None or one.ports is None or two.ports is None:
                continue
            old, new = one.ports.get(end[1]), two.ports.get(end[1])
            if old is not None and new is not None and (new.flap_count or 0) > (old.flap_count or 0):
                seen += 1
                break
    return f"a repeat offender: flaps in {seen} earlier window(s) of the history" if seen else ""


def _untold(view: View, device: str, links: list[Link]) -> Claim:
    whole = len(links) > 1
    finding = Finding(
        code="PHY-04",
        status=Status.UNKNOWN,
        severity=Severity.WARN,
        device=device,
        port=None if whole else links[0].a[1],
        cable=None if whole else links[0].name,
        expected="flap_count of two snapshots, or last_down_time",
        observed=f"cannot tell the flaps of {len(links)} cable(s) of {device}: no flap fields (SONiC: since 202311)"
        if view.window_s is not None
        else f"cannot tell the flaps of {len(links)} cable(s) of {device}: the baseline has no flap_count for them",
        remedy="give --baseline with a snapshot of the same release, or use a release with flap fields",
    )
    return Claim(Cause.COVERAGE, finding, cables=frozenset(), devices=frozenset({device}))
