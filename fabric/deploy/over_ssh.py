"""Reading and reaching a fabric's switches over SSH with a login: what the verbs call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from nornir.core import Nornir

from fabric.deploy.reading import Reading, read_all
from fabric.errors import InputError, Problem
from fabric.nornir_plugins.connections import register
from fabric.nornir_plugins.inventory import inventory
from fabric.nornir_plugins.runner import BoundedRunner
from fabric.transport.login import Login
from fabric.transport.session import Target
from fabric.values.plan import LifeState, Plan


def switches_of(plan: Plan, only: Iterable[str] = ()) -> list[str]:
    """Switches a push is about: all that are installed, or those named. InputError for a name that is not one."""
    names = list(only)
    unknown = [name for name in names if name not in plan.switches]
    if unknown:
        raise InputError(Problem(f"no switch of {plan.name}: {', '.join(unknown)}", "names are those of the intent"))
    return names or [name for name, switch in plan.switches.items() if switch.state is not LifeState.PLANNED]


def targets(plan: Plan, names: Iterable[str]) -> dict[str, Target]:
    """Where these switches answer: their management addresses."""
    return {name: Target(name, plan.switches[name].mgmt_address.partition("/")[0]) for name in names}


def read_fabric(
    plan: Plan,
    login: Login,
    names: Iterable[str],
    *,
    device_deadline_s: float = 60.0,
    whole_deadline_s: float | None = None,
    done: Callable[[str], None] | None = None,
) -> tuple[dict[str, Reading], dict[str, str]]:
    """Read these switches side by side, one round trip each: (readings, why the others could not be read)."""
    from fabric.transport.asyncssh_reader import Reader

    with Reader(login) as reader:
        return read_all(
            reader.sweep,
            targets(plan, names),
            device_deadline_s=device_deadline_s,
            whole_deadline_s=whole_deadline_s,
            done=done,
        )


def nornir_of(plan: Plan, login: Login, names: Iterable[str], overrides: Path | None = None) -> Nornir:
    """A Nornir over these switches, pushing by Netmiko; built directly, so that no other plugin is loaded."""
    register()
    chosen = list(names)
    hosts = inventory(plan, login, overrides=overrides, only=chosen, include_planned=True)
    for host in hosts.hosts.values():
        for options in hosts.defaults.connection_options:
            given = host.get_connection_parameters(options)
            extras = {**(given.extras or {}), "name": host.name}
            given.extras = extras
            if options.startswith("railfab_"):
                host.connection_options[options] = given
    return Nornir(inventory=hosts, runner=BoundedRunner())
