"""Whatever the intent: the figures are those of the arithmetic, and losing what is survivable leaves no leaf short."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.allocate import load_plan
from fabric.design import Capacity, judge
from fabric.values.finding import Status
from fabric.values.plan import Network

_INTENT = """name: any
release: "202505"
classes: {{h: {{nics: {rails}, speed: 400G}}}}
compute:
  rails: {rails}
  places: {nodes}
  leaf: {{platform: accton-as9817-64o}}
  spine: {{platform: accton-as9817-64o, count: {spines}, links: {links}, speed: {speed}}}
  pods: [{{count: {pods}, nodes: {nodes}}}]
"""


def _capacity(**values: object) -> tuple[Capacity, set[str]]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "any.yaml"
        path.write_text(_INTENT.format(**values))
        design = judge(load_plan(path), "2026-01-01")
    failed = {finding.code for finding in design.report.findings if finding.status is Status.FAIL}
    return design.capacity[Network.COMPUTE], failed


@settings(max_examples=30, deadline=None)
@given(
    rails=st.sampled_from([1, 2, 4, 8]),
    nodes=st.integers(1, 40),
    spines=st.integers(1, 8),
    links=st.integers(1, 4),
    pods=st.integers(1, 2),
    speed=st.sampled_from(["400G", "800G"]),
)
def test_figures_are_the_arithmetic(rails: int, nodes: int, spines: int, links: int, pods: int, speed: str) -> None:
    got, failed = _capacity(rails=rails, nodes=nodes, spines=spines, links=links, pods=pods, speed=speed)
    gbps = int(speed[:-1])
    down, up = 400 * nodes, spines * links * gbps
    assert (got.switches, got.nics) == (rails * pods + spines, rails * nodes * pods)
    assert got.cables == rails * pods * (nodes + spines * links)
    assert (got.leaf_down_gbps, got.leaf_up_gbps, got.pod_gbps) == (down, up, down * rails)
    assert got.oversubscription == down / up
    assert (got.ecmp_up, got.ecmp_down) == (spines * links, links)
    spare = [k for k in range(spines) if down <= (spines - k) * links * gbps]
    assert got.survives_spines == max(spare, default=0)
    spare = [k for k in range(spines * links) if down <= (spines * links - k) * gbps]
    assert got.survives_uplinks_per_leaf == max(spare, default=0)
    assert ("TOPO-03" in failed) == (down > up)
    assert failed <= {"TOPO-03"}
