from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fabric.allocate import load_plan
from fabric.audit import prober
from fabric.audit.flights import flights
from fabric.audit.run import ROCE_RATE_CAP, by_host, duration_s, job, manner, prober_source, script
from fabric.errors import InputError
from fabric.values.plan import Plan


@pytest.fixture(scope="module")
def lab(tree: Path) -> Plan:
    return load_plan(tree / "topology" / "lab.yaml")


def test_the_lossy_class_is_the_default_and_the_lossless_one_is_capped(lab: Plan) -> None:
    assert manner(lab.qos).tos == 0
    roce = manner(lab.qos, roce_class=True, per_second=300)
    assert (roce.tos, roce.per_second) == (106, ROCE_RATE_CAP)


@pytest.mark.parametrize("bad", [{"per_second": 0}, {"per_second": 10**6}, {"target_port": 0}, {"target_port": 70000}])
def test_a_rate_or_port_that_makes_no_sense_is_refused(lab: Plan, bad: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        manner(lab.qos, **bad)


def test_a_job_is_small_enough_for_one_argument(tree: Path) -> None:
    plan = load_plan(tree / "topology" / "sakuraone.yaml")
    for flown in by_host(flights(plan, whole_paths=True)).values():
        assert len(job(flown, manner(plan.qos))) < 64 * 1024
        assert duration_s(flown, manner(plan.qos)) > 0


def test_the_prober_is_one_file_of_the_standard_library() -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-", "{}"], input=prober_source(), capture_output=True, check=False, timeout=20
    )
    assert done.returncode == 2
    assert b"KeyError" in done.stderr or b"raw sockets" in done.stderr


def test_a_script_for_other_carriers_is_valid_shell(lab: Plan, tmp_path: Path) -> None:
    (host, flown), *_ = by_host(flights(lab)).items()
    path = tmp_path / f"{host}.sh"
    path.write_text(script(flown, manner(lab.qos)))
    assert subprocess.run(["sh", "-n", str(path)], capture_output=True, check=False).returncode == 0


def test_a_datagram_is_the_udp_probe_it_says_it_is() -> None:
    packet = prober.datagram("192.0.2.1", "192.0.2.9", 49160, 4791, 2, 106, 777)
    assert len(packet) == 46
    assert (packet[1], packet[8], packet[9]) == (106, 2, 17)
    # A switch quotes the IP header and the first eight bytes behind it (RFC 792).
    icmp = bytes([0x45]) + bytes(11) + bytes([198, 51, 100, 7]) + bytes(4) + bytes([11, 0]) + bytes(6) + packet[:28]
    assert prober.quoted(icmp) == ("198.51.100.7", 11, 0, 777, 49160, 4791)


@pytest.mark.parametrize("packet", [b"", b"E" * 19, bytes([0x4F]) + b"\0" * 30, bytes([0x45]) + b"\0" * 47])
def test_what_is_no_answer_to_us_is_left_alone(packet: bytes) -> None:
    assert prober.quoted(packet) is None


@pytest.mark.parametrize("arguments", [[], ["not json"], ["{}"], ["[]"]])
def test_a_bad_job_ends_with_2_and_a_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert prober.main(arguments) == 2
    assert "prober:" in capsys.readouterr().err


def test_jobs_say_what_to_send(lab: Plan) -> None:
    (_, flown), *_ = by_host(flights(lab)).items()
    document = json.loads(job(flown, manner(lab.qos)))
    assert document["target_port"] == 4791
    assert document["flights"][0]["ttls"] == [1, 2, 3]
