"""Two faults at once on the live twin: both named on top, and nothing else there."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

import pytest

from tests.road.conftest import Road

pytestmark = pytest.mark.twin

# (fault, code its finding has, a word of what it is about)
SWAP = (("swap", "gpu001:rail0", "gpu001:rail1"), "TOPO-01", "gpu001")
CUT_HOST = (("cut", "p1-l2:Ethernet8"), "PHY-", "gpu003")
CUT_FABRIC = (("cut", "p1-l3:Ethernet256"), "PHY-", "p1-l3")
BGPD = (("bgpd", "s1"), "BGP-", "s1")
MTU = (("mtu", "p1-l2:Ethernet264", "1500"), "ADDR-03", "p1-l2")
LLDP = (("lldp", "p1-l3:Ethernet12"), "TOPO-", "gpu004")

PAIRS = [
    pytest.param(SWAP, CUT_HOST, id="swap-and-cut"),
    pytest.param(SWAP, BGPD, id="swap-and-bgpd"),
    pytest.param(CUT_FABRIC, MTU, id="cut-and-mtu"),
    pytest.param(CUT_FABRIC, BGPD, id="cut-and-bgpd"),
    pytest.param(MTU, LLDP, id="mtu-and-lldp"),
]


def _tops(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for finding in document["findings"] if finding["status"] != "pass"]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_faults_are_two_findings(
    road: Road, first: tuple[tuple[str, ...], str, str], second: tuple[tuple[str, ...], str, str]
) -> None:
    def named(_code: int, document: dict[str, Any]) -> bool:
        tops = _tops(document)
        return len(tops) == 2 and all(
            any(top["code"].startswith(code) and word in json.dumps(top) for top in tops)
            for _, code, word in (first, second)
        )

    with ExitStack() as faults:
        for words, _, _ in (first, second):
            faults.enter_context(road.fault(*words))
        code, document = road.check_until(named, within_s=90)
        assert named(code, document), json.dumps(_tops(document), indent=1)[:3000]
        assert code == 1
    code, document = road.check_until(lambda code, _: code == 0)
    assert (code, _tops(document)) == (0, []), json.dumps(_tops(document), indent=1)[:2000]
