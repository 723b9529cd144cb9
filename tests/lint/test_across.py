"""Both ends of a cable, and names and addresses over a whole fabric."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fabric.lint import CODES, Document, lint_documents
from fabric.values.finding import Finding
from tests.lint.sound import ROWS, Tables, leaf, port


def spine(name: str, number: int) -> Tables:
    """The far end of one uplink of the sound leaf."""
    return {
        "DEVICE_METADATA": {"localhost": {"hostname": name, "type": "SpineRouter", "bgp_asn": "4200000001"}},
        "PORT": {"Ethernet0": port(range(1, 9), "etp1", 1, 800000)},
        "INTERFACE": {"Ethernet0": {}, f"Ethernet0|10.0.0.{2 * number + 1}/31": {}},
        "LOOPBACK_INTERFACE": {"Loopback0": {}, f"Loopback0|10.255.1.{number}/32": {}},
        "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "p1-l0", "port": f"Ethernet{8 * number}"}},
        "DEVICE_NEIGHBOR_METADATA": {"p1-l0": {"type": "LeafRouter"}},
    }


def fabric() -> dict[str, Tables]:
    return {"p1-l0": leaf(), "s0": spine("s0", 0), "s1": spine("s1", 1)}


def judge(files: dict[str, Tables]) -> list[Finding]:
    documents = [Document(f"{name}.json", name, tables, ROWS) for name, tables in files.items()]
    return [finding for entry in lint_documents(documents) for finding in entry.findings]


Change = Callable[[dict[str, Tables]], object]
CASES: list[tuple[str, Change, str, str, str]] = [
    (
        "F052-fec-differs",
        lambda f: f["s0"]["PORT"]["Ethernet0"].update(fec=""),
        "CFG-80",
        "PORT|Ethernet0 field fec",
        "p1-l0:Ethernet0--s0:Ethernet0",
    ),
    (
        "speed-differs",
        lambda f: f["s0"]["PORT"]["Ethernet0"].update(speed="400000"),
        "CFG-80",
        "PORT|Ethernet0 field speed",
        "p1-l0:Ethernet0--s0:Ethernet0",
    ),
    (
        "mtu-differs",
        lambda f: f["s1"]["PORT"]["Ethernet0"].update(mtu="9216"),
        "CFG-80",
        "PORT|Ethernet8 field mtu",
        "p1-l0:Ethernet8--s1:Ethernet0",
    ),
    (
        "another-subnet",
        lambda f: f["s0"].update(INTERFACE={"Ethernet0": {}, "Ethernet0|10.0.9.1/31": {}}),
        "CFG-80",
        "INTERFACE|Ethernet0|10.0.0.0/31",
        "p1-l0:Ethernet0--s0:Ethernet0",
    ),
    (
        "no-such-port-there",
        lambda f: f["p1-l0"]["DEVICE_NEIGHBOR"]["Ethernet0"].update(port="Ethernet504"),
        "CFG-80",
        "DEVICE_NEIGHBOR|Ethernet0 field port",
        "p1-l0:Ethernet0--s0:Ethernet504",
    ),
    (
        "ends-name-other-ends",
        lambda f: f["s0"]["DEVICE_NEIGHBOR"]["Ethernet0"].update(port="Ethernet8"),
        "CFG-80",
        "DEVICE_NEIGHBOR|Ethernet0 field name",
        "p1-l0:Ethernet0--s0:Ethernet0",
    ),
]


@pytest.mark.parametrize(
    ("change", "code", "place", "cable"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_ends_that_disagree(change: Change, code: str, place: str, cable: str) -> None:
    files = fabric()
    change(files)
    told = [
        ((finding.evidence or "").partition(" = ")[0], finding.cable)
        for finding in judge(files)
        if finding.code == code
    ]
    assert (place, cable) in told


def test_sound_fabric_has_no_finding() -> None:
    assert judge(fabric()) == []


def test_session_expects_another_as() -> None:
    files = fabric()
    files["p1-l0"]["BGP_NEIGHBOR"]["10.0.0.1"]["asn"] = "4200000002"
    (finding,) = judge(files)
    assert (finding.code, finding.device) == ("CFG-81", "p1-l0")
    assert "4200000001" in (finding.remedy or "")


def test_f116_same_subnet_on_a_third_port() -> None:
    files = fabric()
    files["s1"]["INTERFACE"]["Ethernet0|10.0.0.1/31"] = {}
    codes = [finding.code for finding in judge(files)]
    assert codes.count("CFG-82") == 2  # the address twice, the subnet on three ports


def test_two_switches_of_one_name() -> None:
    files = fabric()
    files["s1"]["DEVICE_METADATA"]["localhost"]["hostname"] = "s0"
    assert [finding.code for finding in judge(files)] == ["CFG-83"]
    assert {"CFG-80", "CFG-81", "CFG-82", "CFG-83"} <= set(CODES)


def test_neighbour_without_a_file_is_not_judged() -> None:
    files = fabric()
    del files["s1"]
    assert judge(files) == []
