"""Life-cycle: what is planned is not missing, what is out of service is known down, until its date has passed."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.checks.judged import Judged
from fabric.checks.view import View, is_past, why
from fabric.diagnose.claim import Cause, Claim
from fabric.values.finding import Finding, Severity, Status
from fabric.values.plan import LifeState, Outage


def judge(view: View) -> Judged:
    """LIFE-01: an outage past its end. LIFE-02: a hold past its end."""
    judged = Judged()
    for device, port, outage in _outages(view):
        if outage is None or not is_past(outage.until, view.now):
            continue
        place = f"{device} {port}" if port else device
        finding = Finding(
            code="LIFE-01",
            status=Status.WARN,
            severity=Severity.WARN,
            device=device if device in view.plan.switches else None,
            port=port if device in view.plan.switches else None,
            node=device if device in view.plan.hosts else None,
            nodes=(device,) if device in view.plan.hosts else (),
            expected=f"{place} is back in service by {outage.until}",
            observed=f"{place} is still out of service: {why(outage)}",
            evidence=f"outage in the intent, until {outage.until}",
            remedy="put it back in service in the intent, or give the outage a new end",
        )
        judged.claims.append(Claim(Cause.LIFE, finding, devices=frozenset({device})))
    for hold in view.expired:
        place = f"{hold.device} {hold.item}".strip()
        finding = Finding(
            code="LIFE-02",
            status=Status.WARN,
            severity=Severity.WARN,
            device=hold.device,
            port=hold.item or None,
            expected=f"the hold on {place} ended {hold.until}",
            observed=f"{place} was held by hand: {hold.reason or 'no reason given'}; the hold is over and not obeyed",
            remedy=f"`railfab release {place.replace(' ', ':')}`, or hold it again with a new end",
        )
        judged.claims.append(Claim(Cause.LIFE, finding, devices=frozenset({hold.device})))
    return judged


def _outages(view: View) -> Iterator[tuple[str, str | None, Outage | None]]:
    for name, switch in view.switches.items():
        if switch.state is LifeState.OUT_OF_SERVICE:
            yield name, None, switch.outage
        for port in switch.ports.values():
            if port.outage is not None and port.state is LifeState.OUT_OF_SERVICE:
                yield name, port.name, port.outage
    for host in view.plan.hosts.values():
        if host.state is LifeState.OUT_OF_SERVICE and view.scope.holds(
            host.name, *(nic.switch for nic in host.nics.values())
        ):
            yield host.name, None, host.outage
