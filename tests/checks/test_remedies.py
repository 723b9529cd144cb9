"""What the on-call reads at 3 a.m.: every remedy names a thing to type or the place to go, with no gap left in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from fabric.checks import run_checks
from fabric.values.finding import Finding, Status
from fabric.whatif import faults as f
from fabric.whatif.synthetic import place
from tests.checks.bench import everything, small

PREFIX, LEAF, HOP, PORT = "10.101.3.0/25", "p1-l1", "10.254.0.9", "p1-l1:Ethernet256"
FAULTS: dict[str, Sequence[f.Fault]] = {
    **{f"hop-{layer}": [f.LoseNextHop(LEAF, PREFIX, HOP, layer)] for layer in ("rib", "kernel", "appl", "asic")},
    **{f"route-{layer}": [f.LoseRoute(LEAF, PREFIX, layer)] for layer in ("rib", "kernel", "appl", "asic")},
    "groups": [f.StaleGroups(LEAF)],
    "bgpd": [f.BgpdDown("s1")],
    "session": [f.SessionDown(place(PORT))],
    "shut": [f.SessionDown(place(PORT), "Idle", admin=True)],
    "cut": [f.Cut(place(PORT))],
    "leaf": [f.Dead(LEAF)],
    "unreachable": [f.Unreachable("s0")],
    "mtu": [f.Setting(place(PORT), "mtu", 1500)],
    "flap": [f.Flap(place(PORT), 4)],
    "errors": [f.BitErrors(place(PORT), 3e-4)],
}
_GAP = re.compile(r"\{|\}|\bPREFIX\b|\bHOP\b|\bPORT\b|``|''|  |None")


def _names(finding: Finding) -> bool:
    plan = small().plan
    return any(name in (finding.remedy or "") for name in (*plan.switches, *plan.hosts))


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
def test_every_remedy_can_be_followed(faults: Sequence[f.Fault]) -> None:
    report = run_checks(
        small().plan, small().snapshot(faults), only=["cabling", "links", "bgp", "ecmp"], window_s=300.0
    )
    found = [one for one in everything(report.findings) if one.status is not Status.PASS]
    assert found
    for one in found:
        assert one.remedy, one.code
        assert not _GAP.search(one.remedy), one.remedy
        assert "`" in one.remedy or _names(one), f"neither a command nor a place: {one.code}: {one.remedy}"


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        (FAULTS["hop-kernel"], f"`vtysh -c 'clear bgp {HOP}'`"),
        (FAULTS["hop-appl"], "supervisorctl restart fpmsyncd"),
        (FAULTS["hop-asic"], f"`ping -c 3 {HOP}`"),
        (FAULTS["shut"], f"-c 'no neighbor {HOP} shutdown'"),
        (FAULTS["session"], f"`ping -c 3 {HOP}`"),
    ],
    ids=["kernel", "appl", "asic", "shut", "session"],
)
def test_remedies_have_the_addresses_of_this_fault(faults: Sequence[f.Fault], words: str) -> None:
    report = run_checks(small().plan, small().snapshot(faults), only=["bgp", "ecmp"])
    assert words in (report.findings[0].remedy or "")
