"""Carry the prober to hosts and bring its answers back; or write jobs that somebody else carries (srun, pdsh)."""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from ipaddress import ip_interface
from pathlib import Path
from typing import TYPE_CHECKING

from fabric.audit.answers import Answers, join_answers, read_answers
from fabric.audit.flights import Flight
from fabric.errors import CollectError, InputError, Problem, TransportError
from fabric.values.plan import Plan, QosPlan

if TYPE_CHECKING:
    from fabric.transport import Target
    from fabric.transport.session import Sessions

ROCE_PORT = 4791  # IANA, RoCEv2
# Probes in the lossless class compete with the job and can draw pause: few, and only when asked for.
ROCE_RATE_CAP = 50
_HOSTS_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Manner:
    """How probes are sent: UDP port, ToS byte, probes a second and host, seconds to wait, tries for a lost one."""

    target_port: int = ROCE_PORT
    tos: int = 0
    per_second: int = 300
    wait_s: float = 1.0
    tries: int = 3


def manner(qos: QosPlan, *, roce_class: bool = False, per_second: int = 300, target_port: int = ROCE_PORT) -> Manner:
    """The lossy class (DSCP 0) by default; `roce_class` sends in the fabric's lossless class, at most 50 a second.

    InputError for a rate below 1 or over 10,000, or a port that is none.
    """
    if not 1 <= per_second <= 10_000:
        raise InputError("the rate is between 1 and 10000 probes a second and host")
    if not 1 <= target_port <= 65535:
        raise InputError("a UDP port is between 1 and 65535")
    if not roce_class:
        return Manner(target_port=target_port, per_second=per_second)
    # ECT(0) beside the DSCP, as the NIC marks its own traffic (ToS 106 for DSCP 26).
    return Manner(target_port=target_port, tos=qos.roce_dscp << 2 | 2, per_second=min(per_second, ROCE_RATE_CAP))


def by_host(flown: Sequence[Flight]) -> dict[str, tuple[Flight, ...]]:
    """Flights of each source host."""
    found: dict[str, list[Flight]] = defaultdict(list)
    for flight in flown:
        found[flight.source_host].append(flight)
    return {host: tuple(flights) for host, flights in found.items()}


def job(flown: Sequence[Flight], how: Manner) -> str:
    """The prober's argument for the flights of one host, JSON."""
    return json.dumps(
        {
            "flights": [flight.job() for flight in flown],
            "target_port": how.target_port,
            "tos": how.tos,
            "per_second": how.per_second,
            "wait_s": how.wait_s,
            "tries": how.tries,
        },
        separators=(",", ":"),
    )


def prober_source() -> bytes:
    """The prober as a file that runs with `python3 -`."""
    return files("fabric.audit").joinpath("prober.py").read_bytes()


def script(flown: Sequence[Flight], how: Manner) -> str:
    """A self-contained shell script that runs on one host as root and prints the answers."""
    return (
        "#!/bin/sh\n# Path audit of this host's rails; run as root, keep what it prints.\n"
        f"exec python3 - {shlex.quote(job(flown, how))} <<'RAILFAB_PROBER'\n{prober_source().decode()}RAILFAB_PROBER\n"
    )


def duration_s(flown: Sequence[Flight], how: Manner) -> float:
    """Longest time the flights of one host may take: every probe lost, every try used."""
    probes = sum(flight.probes * flight.hops for flight in flown)
    return how.tries * (probes / how.per_second + how.wait_s * len(flown))


def fly(flown: Sequence[Flight], how: Manner, sessions: Sessions, targets: Mapping[str, Target]) -> Answers:
    """Run the prober on every source host over SSH; a host that cannot is `silent` with the reason, never an error."""
    hosts = by_host(flown)
    with ThreadPoolExecutor(min(_HOSTS_AT_ONCE, max(1, len(hosts)))) as pool:
        return join_answers(
            pool.map(lambda host: _fly_host(host, hosts[host], how, sessions, targets.get(host)), hosts)
        )


def _fly_host(host: str, flown: Sequence[Flight], how: Manner, sessions: Sessions, target: Target | None) -> Answers:
    if target is None:
        return Answers({}, silent={host: "the Plan gives it no management address"})
    session = sessions.session(target)
    try:
        session.open()
        answer = session.run(
            f"python3 - {shlex.quote(job(flown, how))}",
            stdin=prober_source(),
            root=True,
            deadline_s=duration_s(flown, how) + 30,
        )
        if not answer.ok:
            return Answers({}, silent={host: answer.stderr.strip()[-300:] or f"the prober ended with {answer.rc}"})
        return read_answers(answer.stdout, host)
    except (TransportError, CollectError) as error:
        return Answers({}, silent={host: str(error)})
    finally:
        session.close()


def write_jobs(folder: Path, flown: Sequence[Flight], how: Manner) -> list[Path]:
    """One script a source host, `FOLDER/HOST.sh`; whoever runs them puts what they print into `HOST.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for host, flights in by_host(flown).items():
        path = folder / f"{host}.sh"
        beside = path.with_suffix(".sh.part")
        beside.write_text(script(flights, how), encoding="utf-8")
        beside.replace(path)
        written.append(path)
    return written


def read_folder(folder: Path, hosts: Iterable[str]) -> Answers:
    """`FOLDER/HOST.json` of each host; a host without a readable file is silent, with the reason.

    InputError when FOLDER is no folder.
    """
    if not folder.is_dir():
        raise InputError(Problem("is not a folder of answers", "give the folder of the HOST.json files", str(folder)))
    parts = []
    for host in hosts:
        path = folder / f"{host}.json"
        try:
            parts.append(read_answers(path.read_text(encoding="utf-8", errors="replace"), str(path)))
        except (OSError, CollectError) as error:
            parts.append(Answers({}, silent={host: str(error)}))
    return join_answers(parts)


def fly_over_ssh(plan: Plan, flown: Sequence[Flight], how: Manner, known_hosts: Path) -> Answers:
    """Fly from the hosts of the Plan by their management addresses, as the login of the environment."""
    from fabric.transport import Login, Target
    from fabric.transport.asyncssh_reader import Reader
    from fabric.transport.login import terminal_prompt

    targets = {
        host.name: Target(host.name, str(ip_interface(host.mgmt_address).ip))
        for host in plan.hosts.values()
        if host.mgmt_address
    }
    with Reader(Login.from_environment(known_hosts, ask=terminal_prompt())) as sessions:
        return fly(flown, how, sessions, targets)
