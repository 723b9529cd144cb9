"""Node lists: what Slurm says they are."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.errors import InputError
from fabric.gate import expand
from fabric.gate.nodes import MOST

LISTS = [
    pytest.param("gpu001", ["gpu001"], id="one"),
    pytest.param("gpu[001-004]", ["gpu001", "gpu002", "gpu003", "gpu004"], id="range"),
    pytest.param("b04-[09-10]", ["b04-09", "b04-10"], id="F129-padding"),
    pytest.param("nodeA,nodeB[001,003],nodeC", ["nodeA", "nodeB001", "nodeB003", "nodeC"], id="F131-mixed"),
    pytest.param("rack[1-2]n[01-02]", ["rack1n01", "rack1n02", "rack2n01", "rack2n02"], id="F132-two-brackets"),
    pytest.param("gpu[1,3-4,10]", ["gpu1", "gpu3", "gpu4", "gpu10"], id="several"),
    pytest.param("gpu[098-101]", ["gpu098", "gpu099", "gpu100", "gpu101"], id="over-the-padding"),
]


@pytest.mark.parametrize(("text", "names"), LISTS)
def test_lists(text: str, names: list[str]) -> None:
    assert list(expand(text)) == names


def test_F131_the_long_one() -> None:
    names = expand("foo003,foo0[10-20],foo[103-104],foo[10,12-14],foo-m11-16")
    assert len(names) == 19
    assert names[-1] == "foo-m11-16"


def test_blanks_and_repeats_do_not_matter() -> None:
    assert expand(" gpu001 , gpu[001-002]\n") == ("gpu001", "gpu002")
    assert expand("gpu001 gpu002\ngpu003") == ("gpu001", "gpu002", "gpu003")


@pytest.mark.parametrize(
    "text",
    ["", "   ", ",", "gpu[01-", "gpu[05-02]", "gpu[]", "gpu[a-b]", "@file", "gpu*", "!gpu001", "gpu001;id", "$(id)",
     "gpu[1-]", "gpü", "a-[1-3]b,c", "a.b[1-2].c", "a[1 - 2]", "a]1", "a[1-2"],
)  # fmt: skip
def test_F132_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        expand(text)


def test_more_than_100000_names_are_refused() -> None:
    assert len(expand(f"n[1-{MOST}]")) == MOST
    with pytest.raises(InputError):
        expand(f"n[1-{MOST + 1}]")
    with pytest.raises(InputError):
        expand(f"n[1-{MOST}],m1")
    with pytest.raises(InputError):
        expand("n[1-999999999999]")


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="gpu0123456789[],-. \t@*!", max_size=30))
def test_nothing_a_person_types_is_an_internal_error(text: str) -> None:
    try:
        names = expand(text)
    except InputError:
        return
    assert names
    assert len(set(names)) == len(names)


@pytest.fixture(scope="module")
def slurm_conf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The least that scontrol wants to read before it expands a list; no daemon is asked."""
    path = tmp_path_factory.mktemp("slurm") / "slurm.conf"
    path.write_text("ClusterName=test\nSlurmctldHost=localhost\nAuthType=auth/none\nCredType=cred/none\n")
    return path


@pytest.mark.skipif(shutil.which("scontrol") is None, reason="Slurm's scontrol is not here (package slurm-client)")
@pytest.mark.parametrize(
    "text",
    [str(one.values[0]) for one in LISTS]
    + ["gpu[001-010,020],storage1", "a[1-2][3-4]", "a,,b", "a b", "a[1,01]", "[1-3]", "a_1.b"],
)
def test_the_same_as_slurm(text: str, slurm_conf: Path) -> None:
    environment = {**os.environ, "SLURM_CONF": str(slurm_conf)}
    done = subprocess.run(
        ["scontrol", "show", "hostnames", text],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    assert list(expand(text)) == list(dict.fromkeys(done.stdout.split()))
