"""A ledger that was cut, merged badly or edited wrongly is refused with its line; it never hangs or gives nonsense."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fabric.allocate import load_plan
from fabric.allocate.ledger import read
from fabric.errors import RailfabError
from fabric.state import state_paths

Written = Callable[..., Path]
_HUGE = str((1 << 63) - 1)


@pytest.fixture
def damaged(written: Written) -> Callable[[Callable[[str], str | bytes]], str]:
    """Message for the lab's ledger after a change of its text."""
    intent = written("lab")
    ledger = state_paths(intent).ledger
    load_plan(intent, write_ledger=True)
    good = ledger.read_text()

    def refuse(change: Callable[[str], str | bytes]) -> str:
        text = change(good)
        assert text != good
        ledger.write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(RailfabError) as caught:
            load_plan(intent, write_ledger=True)
        return str(caught.value)

    return refuse


Damaged = Callable[[Callable[[str], "str | bytes"]], str]


@pytest.mark.parametrize(
    "key",
    ["index", "asn", "loopback", "mgmt", "hosts", "pod", "segment", "place", "slot", "speed", "address", "links",
     "first", "lower_slot", "upper_slot", "block", "step", "pod_step", "planes", "leaves_per_segment"],
)  # fmt: skip
@pytest.mark.parametrize("value", [_HUGE, "-1", '"x"', "", "true", "1.5"])
def test_numbers(damaged: Damaged, key: str, value: str) -> None:
    message = damaged(lambda text: re.sub(rf"\b{key}: \d+", f"{key}: {value}", text, count=1))
    assert re.search(rf"lab\.ledger\.yaml:\d+: {key}", message)


def test_an_as_number_nobody_may_use(damaged: Damaged) -> None:
    assert ":12: asn: 23456 is no usable AS number" in damaged(lambda t: t.replace("asn: 4200000110", "asn: 23454"))


def test_a_host_beyond_its_leafs_prefix(damaged: Damaged) -> None:
    message = damaged(lambda text: text.replace("address: 0}\nlinks", "address: 61}\nlinks"))
    assert "p1-l0: the ledger gives a host link number 64, its /25 has 64; delete the ledger line" in message


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("p1-l[0-3]", "../../x", "names: '../../x' is no host name"),
        ("p1-l[0-3]", "a b", "names: 'a b' is no host name"),
        ("p1-l[0-3]", "p1-l[0-900000]", "is no range"),
        ("switches:", "switchs:", "'switchs' is no section of a ledger"),
        ("schema:", "include: lab.yaml\nschema:", "'include' is no section of a ledger"),
        ("pools:\n", "pools: []\nx:\n", "pools is no mapping"),
        ("layout: {attachment", "identities: {}\nx-layout: {attachment", "there are switches and no layout"),
        ("hosts:\n", "<<<<<<< HEAD\nhosts:\n=======\n>>>>>>> other\n", ":13: a merge that was not finished: <<<<<<<"),
    ],
)
def test_lines(damaged: Damaged, old: str, new: str, words: str) -> None:
    message = damaged(lambda text: text.replace(old, new))
    assert words in message
    assert "lab.ledger.yaml" in message


@pytest.mark.parametrize("text", [b"", b" \n", b"# nothing\n"])
def test_an_empty_ledger_is_not_a_new_one(damaged: Damaged, text: bytes) -> None:
    assert "the file is empty; take the ledger from git" in damaged(lambda _: text)


def test_every_cut(damaged: Damaged) -> None:
    """Half a ledger is told, or is a whole one of fewer objects: a cut at the end of a line may be either."""
    for at in range(400, 900, 7):
        try:
            damaged(lambda text, at=at: text[:at])  # type: ignore[misc]
        except pytest.fail.Exception:
            continue


def test_a_folder_in_its_place(written: Written) -> None:
    intent = written("lab")
    state_paths(intent).ledger.mkdir()
    with pytest.raises(RailfabError, match=r"lab\.ledger\.yaml: cannot be read: Is a directory"):
        load_plan(intent)


def test_the_ledgers_we_ship_are_read(tree: Path) -> None:
    for path in sorted((tree / "topology").glob("*.ledger.yaml")):
        assert read(path).switches
