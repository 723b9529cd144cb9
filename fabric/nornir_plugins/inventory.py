"""Nornir's inventory of a fabric: hosts from the Plan, overrides from a folder of hosts, groups and defaults.

A switch is a host named as in the Plan, with its management address, and is in the groups of its role, network, pod,
rail and plane (`leaf`, `compute`, `pod1`, `rail0`, `plane0`). Its `data` holds the same facts by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from nornir.core.inventory import ConnectionOptions, Defaults, Group, Groups, Host, Hosts, Inventory, ParentGroups

from fabric.errors import InputError, Problem
from fabric.state import state_paths
from fabric.transport.login import Login, terminal_prompt
from fabric.values.plan import Plan, SwitchPlan

PUSH = "railfab_netmiko"
READ = "railfab_asyncssh"


class RailfabInventory:
    """Nornir inventory plugin. Options: `intent` (a path), `state` (a folder, optional), `overrides` (a folder).

    The login is that of the environment (docs/push.md); a password is asked for only at a terminal.
    """

    def __init__(
        self, intent: str, state: str | None = None, overrides: str | None = None, include_planned: bool = False
    ) -> None:
        self._intent = Path(intent).expanduser()
        self._state = Path(state).expanduser() if state else None
        self._overrides = Path(overrides).expanduser() if overrides else None
        self._include_planned = include_planned

    def load(self) -> Inventory:
        """The inventory; InputError and its kin when the intent or an override is wrong."""
        from fabric.allocate import load_plan

        plan = load_plan(self._intent, state=self._state)
        paths = state_paths(self._intent, self._state)
        login = Login.from_environment(paths.known_hosts, ask=terminal_prompt())
        return inventory(plan, login, overrides=self._overrides, include_planned=self._include_planned)


def inventory(
    plan: Plan,
    login: Login | None,
    *,
    overrides: Path | None = None,
    only: Iterable[str] | None = None,
    include_planned: bool = False,
) -> Inventory:
    """Inventory of the Plan's switches; `only` these when given. `login` None leaves connections to the caller.

    InputError names the file when an override is not what it must be, or names a switch the Plan has not.
    """
    from fabric.values.plan import LifeState

    files = _Overrides(overrides)
    wanted = set(only) if only is not None else None
    groups = Groups()
    hosts = Hosts()
    defaults = _defaults(files.defaults, login)
    for name, raw in files.groups.items():
        groups[name] = _group(name, raw, defaults)
    for switch in plan.switches.values():
        if wanted is not None and switch.name not in wanted:
            continue
        if switch.state is LifeState.PLANNED and not include_planned:
            continue
        parents = ParentGroups()
        for name in _group_names(switch):
            parents.append(groups.setdefault(name, Group(name=name, defaults=defaults)))
        hosts[switch.name] = _host(switch, parents, defaults, files.hosts.get(switch.name, {}), groups)
    for name in files.hosts:
        if name not in plan.switches:
            raise InputError(
                Problem(
                    f"{name} is not a switch of {plan.name}",
                    "hosts come from the intent; only override what is there",
                    file=files.name_of("hosts.yaml"),
                )
            )
    return Inventory(hosts=hosts, groups=groups, defaults=defaults)


def connection_options(login: Login) -> dict[str, ConnectionOptions]:
    """How each connection plugin logs in. `netmiko` is nornir-netmiko's own, held to the same host keys."""
    strict: dict[str, Any] = {
        "ssh_strict": True,
        "system_host_keys": False,
        "alt_host_keys": True,
        "alt_key_file": str(login.known_hosts),
        "use_keys": login.key is not None,
        "allow_agent": login.agent is not None,
    }
    if login.key is not None:
        strict["key_file"] = str(login.key)
    if login.passphrase is not None:
        strict["passphrase"] = login.passphrase
    return {
        PUSH: ConnectionOptions(extras={"login": login}),
        READ: ConnectionOptions(extras={"login": login}),
        "netmiko": ConnectionOptions(
            username=login.user, password=login.password, platform="linux", port=login.port, extras=strict
        ),
    }


class _Overrides:
    """hosts.yaml, groups.yaml and defaults.yaml of a folder, each optional."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.hosts = self._read("hosts.yaml")
        self.groups = self._read("groups.yaml")
        self.defaults = self._read("defaults.yaml")

    def name_of(self, name: str) -> str:
        return str(self._folder / name) if self._folder else name

    def _read(self, name: str) -> dict[str, Any]:
        if self._folder is None:
            return {}
        path = self._folder / name
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            line = getattr(getattr(error, "problem_mark", None), "line", None)
            raise InputError(
                Problem(
                    f"cannot be read: {str(error).splitlines()[0]}",
                    file=str(path),
                    line=None if line is None else line + 1,
                )
            ) from None
        if data is None:
            return {}
        if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
            raise InputError(Problem("expected names at the top", "see inventory/README.md", file=str(path)))
        for key, value in data.items():
            if value is None:
                data[key] = {}
            elif name != "defaults.yaml" and not isinstance(value, dict):
                raise InputError(Problem("expected settings by name", file=str(path), path=key))
        return data


def _group_names(switch: SwitchPlan) -> list[str]:
    names = [switch.role.value, switch.network.value]
    for kind in ("pod", "rail", "plane"):
        number = getattr(switch, kind)
        if number is not None:
            names.append(f"{kind}{number}")
    return names


def _host(
    switch: SwitchPlan, parents: ParentGroups, defaults: Defaults, override: Mapping[str, Any], groups: Groups
) -> Host:
    for name in override.get("groups", ()):
        parents.append(groups.setdefault(name, Group(name=name, defaults=defaults)))
    facts = {
        name: getattr(switch, name)
        for name in ("index", "pod", "rail", "plane", "rack", "unit", "asn", "hwsku", "onie_platform")
    }
    facts |= {"role": switch.role.value, "network": switch.network.value, "catalogue": switch.platform}
    return Host(
        name=switch.name,
        hostname=override.get("hostname") or switch.mgmt_address.partition("/")[0],
        port=override.get("port"),
        username=override.get("username"),
        platform=override.get("platform") or "sonic",
        groups=parents,
        data={**facts, **override.get("data", {})},
        defaults=defaults,
    )


def _group(name: str, raw: Mapping[str, Any], defaults: Defaults) -> Group:
    return Group(
        name=name,
        port=raw.get("port"),
        username=raw.get("username"),
        platform=raw.get("platform"),
        data=dict(raw.get("data", {})),
        defaults=defaults,
    )


def _defaults(raw: Mapping[str, Any], login: Login | None) -> Defaults:
    options = connection_options(login) if login is not None else {}
    return Defaults(
        port=raw.get("port") or (login.port if login else None),
        username=raw.get("username") or (login.user if login else None),
        data=dict(raw.get("data", {})),
        connection_options=options,
    )
