"""Before and after a change, in one report."""

from __future__ import annotations

from fabric.diagnose import compare
from fabric.report import check_document, render_text
from fabric.whatif.faults import Cut, Fault, Setting, Swap
from fabric.whatif.synthetic import place
from tests.checks.bench import judge, small

SWAP = Swap(place("p1-l0:Ethernet0"), place("p1-l1:Ethernet0"))
CUT = Cut(place("p1-l2:Ethernet256"))
MTU = Setting(place("p1-l3:Ethernet4"), "mtu", 1500)


def changes(before: list[Fault], after: list[Fault]) -> tuple[list[str], list[str], int]:
    found = compare(judge(small(), before), judge(small(), after))
    return [one.code for one in found.new], [one.code for one in found.gone], found.same


def test_what_is_new_what_is_gone_and_what_stayed() -> None:
    assert changes([], []) == ([], [], 0)
    assert changes([], [CUT]) == (["PHY-05"], [], 0)
    assert changes([CUT], []) == ([], ["PHY-05"], 0)
    assert changes([CUT, MTU], [CUT, SWAP]) == (["TOPO-01"], ["ADDR-03"], 1)


def test_the_same_fault_elsewhere_is_another_one() -> None:
    assert changes([CUT], [Cut(place("p1-l2:Ethernet264"))]) == (["PHY-05"], ["PHY-05"], 0)


def test_reports_show_the_comparison() -> None:
    import dataclasses

    before, after = judge(small(), [MTU]), judge(small(), [CUT])
    report = dataclasses.replace(after, changes=compare(before, after))
    text = render_text(report, "lab")
    assert "1 new, 1 gone, 0 as before" in text
    assert "new:  PHY-05 p1-l2 Ethernet256" in text
    assert "gone: ADDR-03 p1-l3 Ethernet4" in text
    document = check_document(report, "lab")
    assert [one["code"] for one in document["changes"]["new"]] == ["PHY-05"]
    assert check_document(after, "lab")["changes"] is None
