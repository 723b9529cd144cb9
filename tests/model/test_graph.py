"""The NetworkX graph and the small questions about it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import networkx as nx
import pytest

from fabric.allocate import load_plan
from fabric.intent import load
from fabric.model import build
from fabric.model.graph import graph_of
from fabric.model.lookup import far_end, nic_of, rail_of
from fabric.values.plan import Plan


@pytest.fixture(scope="module")
def sakuraone(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return load_plan(tree / "topology" / "sakuraone.yaml", state=tmp_path_factory.mktemp("state"))


def test_nodes_edges_and_attributes(sakuraone: Plan) -> None:
    graph = graph_of(sakuraone)
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (26 + 132, 1528)
    assert Counter(data["role"] for _, data in graph.nodes(data=True)) == {
        "host": 132, "leaf": 16, "spine": 8, "storage": 2,
    }  # fmt: skip
    assert graph.number_of_edges("p1-l3", "s5") == 4
    assert graph.degree("gpu001") == 10
    assert graph.degree("gpu101") == 0
    edge = graph.edges["p1-l0", "s0", "p1-l0:Ethernet256--s0:Ethernet0"]
    assert edge["ends"] == {"p1-l0": "Ethernet256", "s0": "Ethernet0"}
    assert (edge["kind"], edge["speed_mbps"], edge["length_m"], edge["parallel"]) == ("fabric", 800000, 40, 0)
    assert (graph.nodes["gpu052"]["pod"], graph.nodes["gpu052"]["place"]) == (2, 1)


def test_same_rail_in_a_pod_is_one_switch_away_and_all_else_three(sakuraone: Plan) -> None:
    graph = graph_of(sakuraone)
    fabric = graph.edge_subgraph(
        (a, b, key)  # type: ignore[misc]  # the stubs know no keys
        for a, b, key, data in graph.edges(keys=True, data=True)
        if data["network"] == "compute"
    )
    near = nx.single_source_shortest_path_length(fabric, "p1-l0")
    assert near["gpu001"] == near["gpu050"] == 1
    assert near["p1-l1"] == near["p2-l0"] == 2
    assert nx.is_connected(nx.Graph(fabric))


def test_far_end_and_rail(sakuraone: Plan) -> None:
    assert far_end(sakuraone, "p1-l2", "Ethernet4") == ("gpu002", "rail2")
    assert far_end(sakuraone, "gpu002", "rail2") == ("p1-l2", "Ethernet4")
    assert far_end(sakuraone, "gpu002", "mlx5_2") == ("p1-l2", "Ethernet4")
    assert far_end(sakuraone, "p1-l0", "Ethernet508") is None
    assert far_end(sakuraone, "nobody", "rail0") is None
    assert rail_of(sakuraone, "gpu100", "mlx5_11") == 7
    assert rail_of(sakuraone, "gpu100", "storage0") is None
    assert nic_of(sakuraone, "gpu100", "mlx5_3") is None


def test_the_wanted_fabric(tree: Path) -> None:
    fabric = build(load(tree / "topology" / "gpu32768.yaml"))
    assert len(fabric.switches) == 1280
    assert len(fabric.groups) == 8 + 8 + 1
    assert fabric.leaf(3, 7, 5, 0) == "p3-l61"
    assert fabric.switches["p3-l61"].rail == 5
    assert fabric.switches["p3-l61"].segment == 7
