"""Whether the fabric is well, for a roll-out: collect and checks, joined for `railfab apply`. No verb of its own."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabric.transport.login import Login
    from fabric.values.change import Wave
    from fabric.values.finding import Finding
    from fabric.values.plan import Plan

# Sessions come back within hold time and a few retries; a wave is given this long to look well (seconds).
PATIENCE_S = 60.0
_CHECKS = ("links", "bgp")


class LiveHealth:
    """Asks the live switches. What failed before the roll-out started is not the roll-out's fault."""

    def __init__(self, plan: Plan, intent: Path, state: Path | None, login: Login, patience_s: float = PATIENCE_S):
        self._plan = plan
        self._intent = intent
        self._state = state
        self._login = login
        self._patience_s = patience_s
        self._before: set[tuple[str, str | None, str | None]] | None = None
        self._hosts_before: set[tuple[str, str | None, str | None]] = set()

    def remember(self, devices: Collection[str]) -> None:
        """Look before anything changes: findings that are there now are not new later."""
        found = self._bad(self._around(devices))
        self._before = {_key(one) for one in found}
        self._hosts_before = {_key(one) for one in found if one.node is not None}

    def __call__(self, wave: Wave, changed: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002
        """What is not well around the changed switches and was before; waits for sessions to come back."""
        return self.unwell(changed, self._before or set())

    def at_the_end(self, devices: Collection[str]) -> dict[str, str]:
        """What is not well once everything is done: also what was broken before, but for hosts that were dark then."""
        return self.unwell(devices, self._hosts_before)

    def unwell(
        self, devices: Collection[str], known: Collection[tuple[str, str | None, str | None]] = ()
    ) -> dict[str, str]:
        """Findings around these switches that are not known ones, by switch, after some patience."""
        until = time.monotonic() + self._patience_s
        around = self._around(devices)
        while True:
            bad = [one for one in self._bad(around) if _key(one) not in known]
            if not bad or time.monotonic() > until:
                return {one.device or one.node or "": _says(one) for one in reversed(bad)}
            time.sleep(2.0)

    def _around(self, devices: Collection[str]) -> list[str]:
        """These switches and those cabled to them: a session has two ends."""
        found = dict.fromkeys(devices)
        for name in devices:
            for port in self._plan.switches[name].ports.values():
                peer = port.peer_device
                if peer is not None and peer in self._plan.switches and port.peer_asn is not None:
                    found[peer] = None
        return list(found)

    def _bad(self, devices: Sequence[str]) -> list[Finding]:
        from fabric.collect import Part
        from fabric.collect.over_ssh import collect_over_ssh
        from fabric.deploy.over_ssh import targets
        from fabric.gate.source import check_fabric
        from fabric.values.finding import Status

        _, seen = collect_over_ssh(
            self._plan.name,
            list(targets(self._plan, devices).values()),
            self._login,
            parts=(Part.PORTS, Part.LLDP, Part.BGP),
            keep_raw=False,
        )
        report = check_fabric(
            self._plan, self._intent, state=self._state, snapshot=seen.snapshot, only=_CHECKS, devices=devices
        )
        return [one for one in report.findings if one.status in (Status.FAIL, Status.UNKNOWN)]


def _key(finding: Finding) -> tuple[str, str | None, str | None]:
    return finding.code, finding.device or finding.node, finding.port or finding.nic


def _says(finding: Finding) -> str:
    where = f" {finding.port}" if finding.port else ""
    return f"{finding.code}{where}: {finding.observed or finding.expected or finding.status.value}"
