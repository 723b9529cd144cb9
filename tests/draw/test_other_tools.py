"""DOT, GraphML, containerlab and Slurm files: complete, and read by the real tools where those are here."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest
import yaml
from hostlist import expand_hostlist

from fabric.cli.entry import run
from fabric.draw import draw, write_drawing
from fabric.errors import InputError
from fabric.values.plan import Plan


def test_graphml_reads_back_whole(sakuraone: Plan) -> None:
    graph = nx.read_graphml(io.BytesIO(draw(sakuraone, "x.graphml").encode()))
    cables = sakuraone.cables.values()
    assert graph.number_of_edges() == len(sakuraone.cables)
    assert set(graph.nodes) == {*sakuraone.switches, *sakuraone.hosts}
    assert graph.nodes["p2-l3"]["rail"] == 3
    assert graph.nodes["gpu101"]["reserve"] is True
    ports = {frozenset((a, b)) for a, b in graph.edges()}
    assert ports == {frozenset((cable.a_device, cable.b_device)) for cable in cables}


def test_dot_has_each_pair_once(lab: Plan) -> None:
    text = draw(lab, "x.dot")
    assert text.count(" -- ") == 8 + 16
    assert '"s0" -- "p1-l0" [label="2 x 800G"' in text
    assert '"p1-l0" -- "gpu001" [label="1 x 400G"' in text
    assert '\\"' in draw(replace(lab, name='a"b'), "x.dot")


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not here: the DOT file is not drawn")
def test_dot_is_drawn_by_graphviz(lab: Plan) -> None:
    done = subprocess.run(["dot", "-Tsvg"], input=draw(lab, "x.dot"), capture_output=True, text=True, check=True)
    assert done.stdout.count('class="node"') == 10
    assert done.stderr == ""


def test_containerlab_topology(lab: Plan) -> None:
    document = yaml.safe_load(draw(lab, "x.clab.yml"))
    nodes, links = document["topology"]["nodes"], document["topology"]["links"]
    assert {name: node["kind"] for name, node in nodes.items()} == {
        **dict.fromkeys(lab.switches, "sonic-vs"),
        **dict.fromkeys(lab.hosts, "linux"),
    }
    ends = Counter(end for link in links for end in link["endpoints"])
    assert len(links) == 32
    assert set(ends.values()) == {1}
    assert {end.split(":")[0] for end in ends} == set(nodes)
    # eth0 is management; data interfaces count from eth1 without a gap.
    mine = sorted(int(end.split(":eth")[1]) for end in ends if end.startswith("p1-l0:"))
    assert mine == list(range(1, 9))


def test_containerlab_refuses_what_no_laptop_runs(large: Plan) -> None:
    with pytest.raises(InputError, match="too many for containerlab"):
        draw(large, "x.clab.yml")


def _conf(text: str) -> dict[str, tuple[str, list[str]]]:
    tree = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, kind, children = re.fullmatch(r"SwitchName=(\S+) (Nodes|Switches)=(\S+)", line).groups()  # type: ignore[union-attr]
            tree[name] = (kind, expand_hostlist(children))
    return tree


@pytest.mark.parametrize("name", ["lab", "sakuraone", "large"])
def test_slurm_tree_holds_every_usable_node_once(name: str, request: pytest.FixtureRequest) -> None:
    plan: Plan = request.getfixturevalue(name)
    tree = _conf(draw(plan, "topology.conf"))
    nodes = [node for kind, children in tree.values() if kind == "Nodes" for node in children]
    usable = [
        host.name
        for host in plan.hosts.values()
        if not host.reserve and any(n.rail is not None for n in host.nics.values())
    ]
    assert Counter(nodes) == Counter(usable)
    children = [child for kind, below in tree.values() if kind == "Switches" for child in below]
    assert set(children) <= set(tree)
    assert len(children) == len(set(children))
    assert len(set(tree) - set(children)) == 1  # one root: Slurm lets no job span two trees


def test_slurm_yaml_says_the_same_as_conf(sakuraone: Plan) -> None:
    (topology,) = yaml.safe_load(draw(sakuraone, "topology.yaml"))
    assert topology["topology"] == "sakuraone"
    assert topology["cluster_default"] is True
    tree = {
        entry["switch"]: (
            "Nodes" if "nodes" in entry else "Switches",
            expand_hostlist(entry.get("nodes") or entry["children"]),
        )
        for entry in topology["tree"]["switches"]
    }
    assert tree == _conf(draw(sakuraone, "topology.conf"))


@pytest.mark.skipif(
    shutil.which("slurmctld") is None, reason="slurmctld is not here: topology.conf is not loaded by it"
)
def test_slurm_itself_loads_the_tree(sakuraone: Plan, tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text(draw(sakuraone, "topology.conf"))
    (tmp_path / "state").mkdir()
    port = 40_000 + os.getpid() % 20_000
    conf = tmp_path / "slurm.conf"
    conf.write_text(
        "ClusterName=t\nSlurmctldHost=localhost\nAuthType=auth/none\nCredType=cred/none\nTopologyPlugin=topology/tree\n"
        f"SelectType=select/cons_tres\nStateSaveLocation={tmp_path}/state\nSlurmUser={os.environ.get('USER', 'root')}\n"
        f"SlurmctldPort={port}\nSlurmctldPidFile={tmp_path}/pid\nProctrackType=proctrack/pgid\nMpiDefault=none\n"
        "NodeName=gpu[001-100] NodeAddr=127.0.0.1 CPUs=1 State=FUTURE\nPartitionName=a Nodes=ALL Default=YES\n"
    )
    environment = {**os.environ, "SLURM_CONF": str(conf)}
    daemon = subprocess.Popen(
        ["slurmctld", "-D", "-i", "-f", str(conf)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        shown = ""
        for _ in range(20):
            time.sleep(0.5)
            done = subprocess.run(
                ["scontrol", "show", "topology"], capture_output=True, text=True, env=environment, timeout=20
            )
            shown = done.stdout
            if "SwitchName" in shown:
                break
    finally:
        daemon.kill()
        daemon.wait()
    assert "SwitchName=fabric-sakuraone Level=1" in shown
    assert "Nodes=gpu[001-050]" in shown


def test_endings_and_folders(lab: Plan, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"end the file name in \.svg"):
        draw(lab, "x.png")
    with pytest.raises(InputError, match="has no pod 9"):
        draw(lab, "x.svg", pod=9)
    with pytest.raises(InputError, match="cannot be written"):
        write_drawing(lab, tmp_path / "no" / "x.svg")
    assert list(tmp_path.iterdir()) == []


def test_verb(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    intent = str(tree / "topology" / "lab.yaml")
    for name in ("x.svg", "x.html", "x.dot", "x.graphml", "x.clab.yml", "topology.conf", "topology.yaml"):
        assert run(["draw", intent, "-o", str(tmp_path / name), "--state", str(tmp_path)]) == 0
        assert (tmp_path / name).stat().st_size > 50
    assert "note: accton" in capsys.readouterr().err
    assert run(["draw", intent, "-o", str(tmp_path / "x.png")]) == 2
    assert run(["draw", intent]) == 2
