"""Plans of the intents that ship, and of intents with one thing changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fabric.allocate import load_plan
from fabric.values.plan import Plan

Made = Callable[..., Plan]


@pytest.fixture(scope="session")
def sakuraone(tree: Path) -> Plan:
    return load_plan(tree / "topology" / "sakuraone.yaml")


@pytest.fixture(scope="session")
def lab(tree: Path) -> Plan:
    return load_plan(tree / "topology" / "lab.yaml")


@pytest.fixture
def made(tree: Path, tmp_path: Path) -> Made:
    """Plan of a shipped intent after replacing pieces of its text; each piece must be there."""

    def edited(name: str, *changes: tuple[str, str]) -> Plan:
        text = (tree / "topology" / f"{name}.yaml").read_text()
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        path = tmp_path / f"{name}.yaml"
        path.write_text(text)
        return load_plan(path, state=tmp_path)

    return edited


def with_port(plan: Plan, device: str, port: str, **fields: Any) -> Plan:
    """The Plan with one port changed."""
    switch = plan.switches[device]
    ports = {**switch.ports, port: replace(switch.ports[port], **fields)}
    return replace(plan, switches={**plan.switches, device: replace(switch, ports=ports)})


def with_switch(plan: Plan, device: str, **fields: Any) -> Plan:
    """The Plan with one switch changed."""
    return replace(plan, switches={**plan.switches, device: replace(plan.switches[device], **fields)})


def with_nic(plan: Plan, node: str, nic: str, **fields: Any) -> Plan:
    """The Plan with one NIC changed."""
    host = plan.hosts[node]
    nics = {**host.nics, nic: replace(host.nics[nic], **fields)}
    return replace(plan, hosts={**plan.hosts, node: replace(host, nics=nics)})
