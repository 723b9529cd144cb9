"""Who the switch is: its EEPROM, and the software it says it runs."""

from __future__ import annotations

import json


def eeprom() -> dict[str, str]:
    """`serial`, `mac`, `platform`, `hwsku` as the maker wrote them."""
    with open("/run/box/identity.json") as file:
        known: dict[str, str] = json.load(file)
    return known


def version(field: str) -> str:
    """A field of /etc/sonic/sonic_version.yml, empty when it has none."""
    with open("/etc/sonic/sonic_version.yml") as file:
        for line in file:
            name, _, value = line.partition(":")
            if name == field:
                return value.strip().strip("'")
    return ""
