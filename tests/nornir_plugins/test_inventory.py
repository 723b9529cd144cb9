"""Hosts from the Plan, overrides from files, and a stranger's InitNornir."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fabric.allocate import load_plan
from fabric.errors import InputError
from fabric.nornir_plugins.inventory import PUSH, READ, inventory
from fabric.transport import Login
from fabric.values.plan import Plan


@pytest.fixture(scope="module")
def plan(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Plan:
    return load_plan(tree / "topology" / "lab.yaml", state=tmp_path_factory.mktemp("state"))


@pytest.fixture
def login(tmp_path: Path) -> Login:
    return Login(user="ops", known_hosts=tmp_path / "known_hosts", password="hunter2")


def test_switches_are_hosts_with_their_facts(plan: Plan, login: Login) -> None:
    made = inventory(plan, login)
    assert sorted(made.hosts) == sorted(plan.switches)
    leaf = made.hosts["p1-l0"]
    assert leaf.hostname == plan.switches["p1-l0"].mgmt_address.split("/")[0]
    assert (leaf.username, leaf.port, leaf.platform) == ("ops", 22, "sonic")
    assert {group.name for group in leaf.groups} >= {"leaf", "compute", "pod1", "rail0"}
    assert (leaf["role"], leaf["pod"], leaf["rail"]) == ("leaf", 1, 0)
    spines = [name for name, host in made.hosts.items() if host.has_parent_group("spine")]
    assert spines == ["s0", "s1"]


def test_every_way_in_is_strict(plan: Plan, login: Login) -> None:
    host = inventory(plan, login).hosts["p1-l0"]
    for name in (PUSH, READ):
        assert host.get_connection_parameters(name).extras == {"login": login}
    strangers = host.get_connection_parameters("netmiko")
    extras = strangers.extras or {}
    assert strangers.platform == "linux"
    assert extras["ssh_strict"] is True
    assert extras["system_host_keys"] is False
    assert (extras["alt_host_keys"], extras["alt_key_file"]) == (True, str(login.known_hosts))


def test_overrides(plan: Plan, login: Login, tmp_path: Path) -> None:
    (tmp_path / "hosts.yaml").write_text(
        "p1-l0: {hostname: 192.0.2.9, port: 2222, data: {rack: here}, groups: [mine]}\np1-l1:\n"
    )
    (tmp_path / "groups.yaml").write_text("leaf: {data: {tier: 1}}\nmine: {username: other}\n")
    (tmp_path / "defaults.yaml").write_text("data: {site: tokyo}\n")
    host = inventory(plan, login, overrides=tmp_path).hosts["p1-l0"]
    assert (host.hostname, host.port, host["rack"], host["tier"], host["site"]) == (
        "192.0.2.9", 2222, "here", 1, "tokyo",
    )  # fmt: skip
    assert {group.name for group in host.groups} >= {"leaf", "mine"}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("hosts.yaml", "nobody: {port: 22}\n", "nobody is not a switch of lab"),
        ("hosts.yaml", "p1-l0: [1]\n", "expected settings by name"),
        ("groups.yaml", "- leaf\n", "expected names at the top"),
        ("defaults.yaml", "a: [1\n", "cannot be read"),
    ],
)
def test_bad_overrides_name_the_file(
    plan: Plan, login: Login, tmp_path: Path, name: str, text: str, words: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=words) as wrong:
        inventory(plan, login, overrides=tmp_path)
    assert name in str(wrong.value)


STRANGER = """
from nornir import InitNornir
from fabric.nornir_plugins.tasks import run_command
with InitNornir(config_file="inventory/config.yaml") as fabric:
    print(len(fabric.inventory.hosts), type(fabric.runner).__name__)
    leaves = fabric.filter(filter_func=lambda host: host.has_parent_group("leaf"))
    result = leaves.run(run_command, command="true")
    print(sorted(type(one.exception).__name__ for one in result.values()))
"""


def test_a_strangers_initnornir_works_and_stays_strict(tree: Path, tmp_path: Path) -> None:
    """The shipped config.yaml, Nornir's own way of starting, no host key enrolled: refused, not let in."""
    env = {
        **os.environ, "RAILFAB_PASSWORD": "x", "HOME": str(tmp_path), "RAILFAB_KNOWN_HOSTS": str(tmp_path / "none"),
        "SSH_AUTH_SOCK": "",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", STRANGER], cwd=tree, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["6 BoundedRunner", str(["HostKeyError"] * 4)]


def test_our_own_way_loads_no_other_plugin(tree: Path) -> None:
    code = (
        "import sys\n"
        "from fabric.deploy.over_ssh import nornir_of\n"
        "heavy = {'napalm', 'nornir_netmiko', 'netmiko', 'asyncssh'} & set(sys.modules)\n"
        "sys.exit(' '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tree, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
