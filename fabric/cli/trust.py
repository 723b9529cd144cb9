"""`railfab trust`: enrol host keys and identities on purpose."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("intent", type=click.Path(path_type=Path))
@click.option("--only", multiple=True, metavar="SWITCH", help="These switches only; may repeat.")
@click.option(
    "--renew", multiple=True, metavar="SWITCH", help="Take a changed key and identity of this one; may repeat."
)
@click.option("--yes", is_flag=True, help="Enrol new keys without being asked: on a network you trust, once.")
@click.option("--keys-only", is_flag=True, help="Host keys only; do not log in.")
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR", help="Folder of ledger and state.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout (railfab.trust/1).")
def command(
    intent: Path,
    only: tuple[str, ...],
    renew: tuple[str, ...],
    yes: bool,
    keys_only: bool,
    state: Path | None,
    as_json: bool,
) -> int:
    """Show the host keys INTENT's switches offer, enrol those you agree to, and learn who each switch is.

    Serial number and base MAC go into the ledger, once; a push then refuses another box at the same address. After an
    RMA or a re-image name the switch with --renew. Exit 0 all known, 1 a key or identity changed, 2 one was silent.
    """
    from fabric.allocate import load_plan
    from fabric.deploy import trust
    from fabric.deploy.over_ssh import read_fabric, switches_of, targets
    from fabric.state import state_paths
    from fabric.transport.asyncssh_reader import offered_keys
    from fabric.transport.login import Login, terminal_prompt
    from fabric.values.codec import dumps

    plan = load_plan(intent, state=state, write_ledger=True)
    paths = state_paths(intent, state)
    names = switches_of(plan, [*only, *(name for name in renew if only and name not in only)])
    switches_of(plan, renew)
    where = targets(plan, names)
    login = Login.from_environment(paths.known_hosts, ask=None if keys_only else terminal_prompt())
    offers = trust.offers(where, login.known_hosts, login.port, offered_keys(where, port=login.port))
    chosen = [
        offer
        for offer in offers
        if offer.state is trust.KeyState.NEW or (offer.state is trust.KeyState.CHANGED and offer.device in renew)
    ]
    for offer in offers:
        if offer.state is not trust.KeyState.KNOWN:
            told = offer.error or ", ".join(f"{key.kind} {key.fingerprint}" for key in offer.keys)
            click.echo(f"{offer.device} ({offer.address}): {offer.state.value}: {told}", err=True)
    if chosen and not yes and not click.confirm(f"Enrol the keys of {len(chosen)} switches?", err=True):
        click.echo("railfab: nothing was enrolled", err=True)
        return 2
    trust.enrol(login.known_hosts, chosen)
    changed = [offer.device for offer in offers if offer.state is trust.KeyState.CHANGED and offer not in chosen]
    silent = {offer.device: offer.error or "" for offer in offers if offer.state is trust.KeyState.UNREACHABLE}
    identities: list[trust.Learned] = []
    written: list[str] = []
    if not keys_only:
        trusted = [name for name in names if name not in changed and name not in silent]
        readings, missing = read_fabric(plan, login, trusted)
        silent |= missing
        identities = trust.learned(plan, readings)
        doubles = trust.duplicates(identities)
        for value, devices in doubles.items():
            click.echo(f"railfab: {' and '.join(devices)} both say they are {value}: one box, two addresses", err=True)
        twice = {device for devices in doubles.values() for device in devices}
        written = trust.remember(paths.ledger, [one for one in identities if one.device not in twice], renew)
        changed += [one.device for one in identities if one.changed and one.device not in renew]
        changed += [device for device in twice if device not in changed]
    enrolled = [offer.device for offer in chosen]
    if as_json:
        click.echo(dumps(_document(plan.name, offers, identities, enrolled, written, changed, silent)), nl=False)
    else:
        for one in identities:
            mark = " CHANGED" if one.changed else ""
            click.echo(f"{one.device}: serial {one.serial or 'unknown'}, base MAC {one.base_mac or 'unknown'}{mark}")
        click.echo(f"{len(enrolled)} switches' keys enrolled, {len(written)} identities learned")
        for name in changed:
            click.echo(f"{name}: not what it was; find out why, then `railfab trust {intent} --renew {name}`")
        for name, reason in silent.items():
            click.echo(f"{name}: {reason}")
    return 1 if changed else 2 if silent else 0


def _document(
    fabric: str,
    offers: object,
    identities: object,
    enrolled: list[str],
    written: list[str],
    changed: list[str],
    silent: dict[str, str],
) -> dict[str, object]:
    from fabric.values.codec import plain

    return {
        "schema": "railfab.trust/1",
        "fabric": fabric,
        "keys": plain(offers),
        "identities": plain(identities),
        "summary": {"enrolled": enrolled, "learned": written, "changed": changed, "silent": silent},
    }
