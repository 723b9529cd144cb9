"""Every problem of an intent at once, each with file, line, key path and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric.errors import InputError, Problem
from fabric.intent import load, load_text

LAB = """\
name: lab
classes:
  h100: {nics: 4, speed: 400G}
compute:
  rails: 4
  leaf: {platform: accton-as9817-64o}
  spine: {platform: accton-as9817-64o, count: 2, links: 2, speed: 800G}
  pods:
    - nodes: gpu[001-004]
"""


def problems(text: str) -> list[Problem]:
    with pytest.raises(InputError) as caught:
        load_text(text)
    return list(caught.value.problems)


def test_the_text_is_an_intent() -> None:
    assert load_text(LAB).intent.compute.spine is not None


def test_all_problems_at_once_in_file_order() -> None:
    text = LAB.replace("nics: 4", "nics: four").replace("rails: 4", "rials: 4").replace("count: 2", "count: -2")
    found = problems(text.replace("name: lab\n", ""))
    assert [(problem.line, problem.path) for problem in found] == [
        (1, "name"),
        (2, "classes.h100.nics"),
        (4, "compute.rials"),
        (6, "compute.spine.count"),
    ]
    assert all(problem.file == "intent.yaml" and problem.remedy for problem in found)
    assert "did you mean 'rails'?" in found[2].remedy


@pytest.mark.parametrize(
    ("old", "new", "path", "words"),
    [
        pytest.param("speed: 400G", "speed: 400", "classes.h100.speed", "write it as 400G", id="speed-without-unit"),
        pytest.param("speed: 400G", "speed: 401G", "classes.h100.speed", "no port speed", id="speed-unknown"),
        pytest.param("gpu[001-004]", "gpu[001-", "compute.pods.0.nodes", "no node list", id="broken-node-list"),
        pytest.param("gpu[001-004]", "gpu[1-900000000000]", "compute.pods.0.nodes", "too long", id="endless-list"),
        pytest.param("gpu[001-004]", "gpu[1-99999999]", "compute.pods.0.nodes", "more than 100000", id="long-list"),
        pytest.param("gpu[001-004]", "'gpu001,gpu001'", "compute.pods.0.nodes", "given twice", id="twice"),
        pytest.param("gpu[001-004]", "'gpu001;reboot'", "compute.pods.0.nodes", "no host name", id="shell"),
        pytest.param("gpu[001-004]", "'gpu$(id)'", "compute.pods.0.nodes", "no host name", id="substitution"),
        pytest.param("gpu[001-004]", "gpu[001-070]", "compute.pods.0", "70 hosts in 64 places", id="too-many-hosts"),
        pytest.param("nics: 4", "nics: 5", "classes.h100.nics", "rail 4 does not exist", id="more-nics-than-rails"),
        pytest.param("nics: 4", "nics: 4, hca: [a, b]", "classes.h100.hca", "2 names for 4 NICs", id="hca-count"),
        pytest.param("nics: 4", "nics: 4, rails: [0, 1, 1, 2]", "classes.h100.rails", "stands twice", id="rail-twice"),
        pytest.param("name: lab", "name: -lab", "name", "no host name", id="name"),
        pytest.param("name: lab", "name: lab\nrelease: 202505", "release", "a word belongs here", id="number-release"),
        pytest.param("name: lab", "name: 12", "name", "a word belongs here", id="number-name"),
        pytest.param("links: 2", "links: 2.5", "compute.spine.links", "integer", id="half-a-link"),
        pytest.param("links: 2", "links: true", "compute.spine.links", "integer", id="true-links"),
        pytest.param("links: 2", "links: ~", "compute.spine.links", "has no value", id="no-value"),
        pytest.param("rails: 4", "attachment: star", "compute.attachment", "is not possible here", id="attachment"),
        pytest.param("rails: 4", "rails: 4\n  superspine: {platform: x, count: 4, speed: 800G}", "compute.superspine",
                     "links or uplinks", id="superspine-links"),
        pytest.param("name: lab", "name: lab\nqos: {host_mtu: 9200}", "qos", "larger than mtu", id="host-mtu"),
        pytest.param("name: lab", "name: lab\nrouting: {hold_s: 5}", "routing", "three times", id="timers"),
        pytest.param("name: lab", "name: lab\naddressing: {fabric: [10.0.0.1/8]}", "addressing.fabric.0", "no prefix",
                     id="host-bits"),
        pytest.param("name: lab", "name: lab\naddressing: {fabric: [10.0.0.0]}", "addressing.fabric.0",
                     "no prefix length", id="no-length"),
        pytest.param("name: lab", "name: lab\nstates: [{switches: s0, state: out-of-service}]", "states.0",
                     "needs a reason and an owner", id="outage-without-reason"),
        pytest.param("name: lab", "name: lab\nstates: [{switches: s0, nodes: x, state: planned}]", "states.0",
                     "give one of", id="two-selectors"),
        pytest.param(
            "name: lab",
            "name: lab\nstates: [{switches: s0, state: out-of-service, reason: r, owner: o, until: soon}]",
            "states.0.until", "no date", id="until",
        ),
        pytest.param("nodes: gpu[001-004]", "nodes: gpu[001-004]\n      class: b200", "compute.pods.0.class",
                     "does not exist", id="class"),
        pytest.param("nodes: gpu[001-004]", "nodes: gpu[001-004]\n    - {pod: 1, nodes: x1}", "compute.pods.1",
                     "pod 1 is also entry 0", id="pod-twice"),
        pytest.param("nodes: gpu[001-004]", "nodes: gpu[001-004]\n    - {nodes: 'gpu[004-006]'}",
                     "compute.pods.1.nodes", "node gpu004 is also in", id="node-twice"),
        pytest.param("nodes: gpu[001-004]", "nodes: gpu[001-004]\n      count: 3", "compute.pods.0",
                     "names for pods that are repeated", id="names-repeated"),
        pytest.param("name: lab", "name: lab\nmanagement: {network: 10.0.0.0/24, gateway: 10.0.1.1}",
                     "management.gateway", "outside of", id="gateway"),
        pytest.param("nics: 4", "nics: 4, storage: {speed: 200G}", "classes.h100.storage", "no storage network",
                     id="no-storage"),
        pytest.param("name: lab", "name: lab\nservices: {ntp: ['a b']}", "services.ntp.0", "neither", id="ntp"),
    ],
)  # fmt: skip
def test_told_with_key_path(old: str, new: str, path: str, words: str) -> None:
    assert old in LAB
    found = problems(LAB.replace(old, new))
    hit = [problem for problem in found if problem.path == path]
    assert hit, [str(problem) for problem in found]
    assert words in f"{hit[0].what}; {hit[0].remedy}"
    assert hit[0].line is not None


@pytest.mark.parametrize(
    ("asn", "fine"),
    [(0, False), ("None", False), (4294967296, False), ("64512.1", False), ("' 65001'", False), (23456, False),
     (65535, False), (4294967295, False), (4200000001, True), (64512, True)],
)  # fmt: skip
def test_f010_as_numbers(asn: object, fine: bool) -> None:
    text = LAB + f"devices:\n  s0: {{asn: {asn}}}\n"
    if fine:
        assert load_text(text).intent.devices["s0"].asn == asn
    else:
        assert [problem.path for problem in problems(text)] == ["devices.s0.asn"]


def test_f139_fewer_rails_than_eight_are_fine() -> None:
    assert load_text(LAB).intent.compute.rails == 4


def test_comments_and_layout_do_not_change_the_hash() -> None:
    assert load_text(LAB).sha256 == load_text("# hello\n" + LAB.replace("rails: 4", "rails:   4")).sha256
    assert load_text(LAB).sha256 != load_text(LAB.replace("links: 2", "links: 3")).sha256


def test_every_shipped_intent_loads(tree: Path) -> None:
    names = sorted(path.name for path in (tree / "topology").glob("*.yaml") if ".ledger." not in path.name)
    assert {"lab.yaml", "sakuraone.yaml", "pod32.yaml", "gpu8192.yaml", "gpu32768.yaml", "railonly.yaml",
            "dualplane.yaml", "gpu98304.yaml"} <= set(names)  # fmt: skip
    for name in names:
        assert load(tree / "topology" / name).intent.name == name.removesuffix(".yaml")
