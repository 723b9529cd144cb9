"""A twin of a fabric written by hand, configured by hand: no other room of railfab takes part."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fabric import lab
from fabric.values.plan import Plan
from tests.lab import handmade
from tests.twin_fixtures import LabTwin, missing_for_twin


@pytest.fixture(scope="session")
def plan() -> Plan:
    """4 leaves, 2 spines, 4 hosts, two cables between each leaf and spine."""
    return handmade.plan()


@pytest.fixture(scope="package")
def twin(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabTwin]:
    """That fabric, running and converged; tests leave it as they found it."""
    if lacking := missing_for_twin():
        pytest.skip("no twin on this machine: " + "; ".join(lacking))
    folder = tmp_path_factory.mktemp("handmade") / ".railfab" / "handmade" / "lab"
    try:
        lab.up(plan, folder)
        running = LabTwin(folder, plan)
        running.configure(lambda name: handmade.config_db(plan, name), lambda name: handmade.frr_conf(plan, name))
        yield running
    finally:
        lab.down(folder)
