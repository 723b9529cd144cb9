"""SVG and HTML: every cable is there once with both ends; large fabrics are folded, and every name can be found."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hostlist import expand_hostlist

from fabric.draw import draw
from fabric.draw.scene import fold_names, scene_of
from fabric.draw.svg import svg
from fabric.values.plan import LifeState, Outage, Plan, PortUse

_NS = "{http://www.w3.org/2000/svg}"


def titles(text: str) -> list[str]:
    root = ElementTree.fromstring(text)
    return [node.text or "" for node in root.iter(f"{_NS}title")]


def named(text: str) -> set[str]:
    """Every device a reader can find in a picture."""
    root = ElementTree.fromstring(text)
    lists = {word for node in root.iter() for word in (node.get("data-n") or "").split()}
    return {name for folded in lists for name in expand_hostlist(folded)}


@pytest.mark.parametrize("name", ["lab", "sakuraone"])
def test_every_cable_is_drawn_once_with_both_ends(name: str, request: pytest.FixtureRequest) -> None:
    plan: Plan = request.getfixturevalue(name)
    said = titles(draw(plan, "x.svg"))
    lines = [title for title in said if " - " in title]
    cells = [title for title in said if "\n" in title and " - " not in title]
    fabric = [cable for cable in plan.cables.values() if cable.kind is PortUse.FABRIC]
    assert len(lines) == len(fabric)
    for cable in fabric:
        assert (
            sum(f"{cable.a_device} {cable.a_port} " in t and f"{cable.b_device} {cable.b_port} " in t for t in lines)
            == 1
        )
    for host in plan.hosts.values():
        for nic in host.nics.values():
            wanted = (f"{host.name} {nic.name}", f"\n{nic.switch} {nic.switch_port} ")
            assert sum(all(part in title + " " for part in wanted) for title in cells) == 1, (host.name, nic.name)


def test_every_device_can_be_found(sakuraone: Plan) -> None:
    assert named(draw(sakuraone, "x.svg")) >= {*sakuraone.switches, *sakuraone.hosts}


def test_a_large_fabric_is_folded_small_and_complete(large: Plan) -> None:
    text = draw(large, "x.svg")
    assert len(text) < 100_000
    assert named(text) >= {*large.switches, *large.hosts}
    assert "64 spines stand in one box" in text
    assert "15 segments stand as small boxes" in text
    root = ElementTree.fromstring(text)
    assert len(list(root.iter(f"{_NS}path"))) < 100


def test_one_pod_of_a_large_fabric_is_drawn_alone(sakuraone: Plan) -> None:
    names = named(draw(sakuraone, "x.svg", pod=2))
    assert "gpu051" in names
    assert "gpu001" not in names
    assert {"s0", "p2-l7", "st1"} <= names
    assert "p1-l0" not in names


def test_states_are_told_apart(lab: Plan) -> None:
    out = Outage(reason="fan", owner="noc")
    hosts = dict(lab.hosts)
    hosts["gpu001"] = replace(hosts["gpu001"], state=LifeState.OUT_OF_SERVICE, outage=out)
    hosts["gpu002"] = replace(hosts["gpu002"], state=LifeState.PLANNED)
    text = draw(replace(lab, hosts=hosts), "x.svg")
    legend = 2
    assert text.count('class="cell out"') == 4 + legend - 1
    assert text.count('class="cell planned"') == 4 + legend - 1


def test_rails_have_colours_of_their_own(sakuraone: Plan) -> None:
    scene = scene_of(sakuraone)
    assert scene.rails == 8
    fills = set(re.findall(r'class="cell " [^>]*fill="(#[0-9a-f]{6})"', svg(scene)))
    assert len(fills) == 9  # eight rails, and grey for storage


def test_names_cannot_break_out_of_the_picture(lab: Plan) -> None:
    evil = '"><script>alert(1)</script>'
    plan = replace(lab, name=evil, notes=(evil,))
    for kind in ("x.svg", "x.html"):
        text = draw(plan, kind)
        assert "<script>alert" not in text
    ElementTree.fromstring(draw(plan, "x.svg"))


def test_html_needs_nothing_but_itself(sakuraone: Plan) -> None:
    text = draw(sakuraone, "x.html")
    assert re.findall(r"https?://[^\"']*", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"\b(src|href)=", text)


def test_notes_of_the_plan_stand_in_the_picture(lab: Plan) -> None:
    text = " ".join(draw(lab, "x.svg").split())
    assert "note: accton-as9817-64o" in text


def test_folded_names() -> None:
    assert fold_names(["gpu001", "gpu002", "gpu004"]) == "gpu[001-002,004]"
    assert expand_hostlist(fold_names(["gpu099", "gpu100", "p1-l0"])) == ["gpu099", "gpu100", "p1-l0"]


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not here: the HTML is not run")
@pytest.mark.parametrize(("find", "hits"), [("p1-l0", 97), ("nobody", 0)])
def test_html_finds_a_node_in_a_real_browser(sakuraone: Plan, tmp_path: Path, find: str, hits: int) -> None:
    page = tmp_path / "x.html"
    page.write_text(draw(sakuraone, "x.html"))
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [*command, "--dump-dom", f"file://{page}#find={find}"], capture_output=True, text=True, timeout=120, check=True
    )
    assert len(re.findall(r'class="[^"]*\bhit\b', done.stdout)) == hits
    assert ("nothing of that name" in done.stdout.split("<script>")[0]) == (hits == 0)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not here: the HTML is not run")
def test_html_finds_a_folded_node_in_a_real_browser(large: Plan, tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    page.write_text(draw(large, "x.html"))
    name = list(large.hosts)[-1]
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run(
        [*command, "--dump-dom", f"file://{page}#find={name}"], capture_output=True, text=True, timeout=120, check=True
    )
    assert len(re.findall(r'class="[^"]*\bhit\b', done.stdout)) == 1
