"""What holds for every choice of classes, and for every set of names."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fabric.render import render_hosts, render_switch
from fabric.render.order import natural
from tests.render.plans import plan, qos


def span(text: str) -> range:
    low, _, high = text.partition("-")
    return range(int(low), int(high or low) + 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 63), st.integers(0, 7), st.integers(0, 63), st.integers(0, 7))
def test_any_classes_give_one_lossless_path_from_code_point_to_queue(
    roce: int, lossless: int, cnp_point: int, cnp: int
) -> None:
    assume(roce != cnp_point)
    assume(lossless != cnp)
    assume(lossless != 0)  # class 0 is everybody else's
    of = plan(qos_plan=qos(roce_dscp=roce, lossless_tc=lossless, cnp_dscp=cnp_point, cnp_tc=cnp))
    tables = render_switch(of, "p1-l0").tables
    dscp = tables["DSCP_TO_TC_MAP"]["AZURE"]
    assert len(dscp) == 64
    assert [point for point, tc in dscp.items() if tc == str(lossless)] == [str(roce)]
    port = tables["PORT_QOS_MAP"]["Ethernet0"]
    assert port["pfc_enable"] == port["pfcwd_sw_enable"] == str(lossless)
    groups = tables["TC_TO_PRIORITY_GROUP_MAP"]["AZURE"]
    assert [tc for tc, group in groups.items() if group == str(lossless)] == [str(lossless)]
    made = {key: row["profile"] for key, row in tables["BUFFER_QUEUE"].items() if key.startswith("Ethernet0|")}
    queues = [queue for key in made for queue in span(key.partition("|")[2])]
    assert queues == list(range(max(7, lossless + 1, cnp + 1))), "every queue once, in order"
    assert made[f"Ethernet0|{lossless}"] == "egress_lossless_profile"
    assert list(made.values()).count("egress_lossless_profile") == 1
    assert "wred_profile" in tables["QUEUE"][f"Ethernet0|{lossless}"]
    assert tables["SCHEDULER"][str(tables["QUEUE"][f"Ethernet0|{cnp}"]["scheduler"])]["type"] == "STRICT"
    assert f"NCCL_IB_TC={roce * 4 + 2}\n" in render_hosts(of, "gpu001").files["etc/nccl.conf"]


@given(st.lists(st.tuples(st.sampled_from(["Ethernet", "p1-l", "gpu"]), st.integers(0, 10_000))))
def test_natural_order_is_by_number(names: list[tuple[str, int]]) -> None:
    texts = [f"{stem}{number}" for stem, number in names]
    assert sorted(texts, key=natural) == [f"{stem}{number}" for stem, number in sorted(names)]
