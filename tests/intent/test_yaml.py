"""Hostile and surprising YAML is refused with a line, and never takes long."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fabric.errors import InputError, Problem
from fabric.intent import _yaml, load, load_text


def problems(text: str | bytes) -> list[Problem]:
    with pytest.raises(InputError) as caught:
        load_text(text)
    return list(caught.value.problems)


def value(text: str) -> object:
    found: list[Problem] = []
    node = _yaml.read_text(text, "x.yaml", found)
    assert node is not None, found
    assert not found
    return node.plain()


_BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 10)}]\n" for n in range(9)
)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        pytest.param(_BOMB, None, "aliases make more than", id="alias-bomb"),
        pytest.param("[" * 100_000, 1, "nest", id="bracket-bomb"),
        pytest.param("- " * 1000 + "x\n", 1, "nested deeper", id="dash-bomb"),
        pytest.param("a: &a [*a]\n", 1, "stands inside what it names", id="alias-of-itself"),
        pytest.param("a: *b\n", 1, "names nothing before it", id="alias-of-nothing"),
        pytest.param("name: x\nname: y\n", 2, "stands twice, first in line 1", id="duplicate-key"),
        pytest.param("a:\n  b: 1\n  c: 2\n  b: 3\n", 4, "stands twice, first in line 2", id="duplicate-key-inside"),
        pytest.param("name: x\nclasses: 123456789012345678901234567890\n", 2, "too large", id="huge-integer"),
        pytest.param("name: on\n", 1, "truth value to some", id="on"),
        pytest.param("name: No\n", 1, "truth value to some", id="norway"),
        pytest.param("name: TRUE\n", 1, "truth value to some", id="loud-true"),
        pytest.param("name: x\nrelease: 0123\n", 2, "octal to some", id="octal"),
        pytest.param("name: x\nrelease: 0o17\n", 2, "unusual way", id="octal-1.2"),
        pytest.param("name: x\nrelease: 1_000\n", 2, "unusual way", id="underscore"),
        pytest.param("name: x\nrelease: 1e3\n", 2, "unusual way", id="exponent"),
        pytest.param("name: x\nrelease: .inf\n", 2, "unusual way", id="infinity"),
        pytest.param("name: !!python/object:os.system x\n", 1, "tag", id="python-tag"),
        pytest.param("name: !include x\n", 1, "tag", id="local-tag"),
        pytest.param("name: x\n---\nname: y\n", 2, "second document", id="two-documents"),
        pytest.param("name: [x\n", 2, "not YAML", id="broken"),
        pytest.param("\tname: x\n", 1, "not YAML", id="tab"),
        pytest.param("", None, "is empty", id="empty"),
        pytest.param("# nothing\n", None, "is empty", id="comment-only"),
        pytest.param("- a\n- b\n", 1, "is a mapping of keys", id="list"),
        pytest.param("name: x\n[a, b]: c\n", 2, "key must be a word", id="key-is-a-list"),
        pytest.param(b"name: \xff\xfe\n", None, "not YAML", id="not-utf8"),
        pytest.param("name: x\x00y\n", None, "not YAML", id="control-character"),
        pytest.param("a: {<<: 5}\n", 1, "needs a mapping", id="merge-of-a-number"),
    ],
)
def test_refused_with_line(text: str | bytes, line: int | None, words: str) -> None:
    began = time.perf_counter()
    found = problems(text)
    assert time.perf_counter() - began < 5
    hit = [problem for problem in found if words in problem.what]
    assert hit, [str(problem) for problem in found]
    if line is not None:
        assert hit[0].line == line
    assert hit[0].file == "intent.yaml"
    assert hit[0].remedy


def test_words_that_are_safe_stay_what_they_look_like() -> None:
    text = (
        'a: true\nb: false\nc: null\nd: 12\ne: -3\nf: 1.5\ng: "on"\n'
        + "h: 00:11:22:33:44:55\ni: 2026-12-31\nj: 12:30\nk: ~\n"
    )
    assert value(text) == {
        "a": True, "b": False, "c": None, "d": 12, "e": -3, "f": 1.5, "g": "on",
        "h": "00:11:22:33:44:55", "i": "2026-12-31", "j": "12:30", "k": None,
    }  # fmt: skip


def test_merge_keys_and_anchors_keep_the_line_of_the_value() -> None:
    found: list[Problem] = []
    node = _yaml.read_text("x: &x {a: 1,\n  b: 2}\ny:\n  <<: *x\n  b: 3\n", "x.yaml", found)
    assert node is not None
    assert not found
    assert node.plain()["y"] == {"a": 1, "b": 3}
    assert node.value["y"].value["a"].mark.line == 1
    assert node.value["y"].value["b"].mark.line == 5


def test_a_merged_value_that_is_wrong_is_shown_where_it_stands(tree: Path, tmp_path: Path) -> None:
    text = (tree / "topology" / "gpu32768.yaml").read_text().replace("speed: 400G, links: 1}", "speed: 401G, links: 1}")
    line = next(number for number, row in enumerate(text.splitlines(), 1) if "401G" in row)
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        load(path)
    assert {(problem.line, problem.path) for problem in caught.value.problems} == {
        (line, "compute.spine.speed"),
        (line, "compute.superspine.speed"),
    }


def test_includes_are_laid_under(tmp_path: Path, tree: Path) -> None:
    text = (tree / "topology" / "lab.yaml").read_text()
    (tmp_path / "base.yaml").write_text(text)
    top = tmp_path / "site.yaml"
    top.write_text("include: base.yaml\nname: site\ncompute:\n  pods:\n    - {nodes: 'gpu[001-002]'}\n")
    file = load(top)
    assert file.intent.name == "site"
    assert file.intent.compute.rails == 4
    assert file.intent.compute.pods[0].nodes == ("gpu001", "gpu002")


@pytest.mark.parametrize("name", ["/etc/passwd", "missing.yaml", "site.yaml", "https://example.org/x.yaml"])
def test_a_bad_include_is_refused(tmp_path: Path, name: str) -> None:
    top = tmp_path / "site.yaml"
    top.write_text(f"include: {name}\nname: site\n")
    with pytest.raises(InputError) as caught:
        load(top)
    assert any("include" in str(p) or "cannot be read" in p.what for p in caught.value.problems)


def test_includes_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("include: b.yaml\n")
    (tmp_path / "b.yaml").write_text("include: a.yaml\n")
    with pytest.raises(InputError, match="includes itself"):
        load(tmp_path / "a.yaml")


def test_a_missing_file_and_a_directory_are_told(tmp_path: Path) -> None:
    for path in (tmp_path / "no.yaml", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            load(path)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"a.yaml": "include: b.yaml\nname: x\n", "b.yaml": "hello\n"},
         "a.yaml:1: include: include 'b.yaml' is no mapping"),
        ({"a.yaml": "include: b.yaml\n", "b.yaml": "include: a.yaml\n"},
         "b.yaml:1: include: include 'a.yaml' includes itself"),
        ({"a.yaml": "include: b.yaml\n"}, "b.yaml: cannot be read: No such file or directory"),
        ({"a.yaml": "include: b.yaml\n", "b.yaml": ""}, "b.yaml: the file is empty"),
        ({"a.yaml": "name: x\n<<<<<<< HEAD\n"}, "a.yaml:2: a merge that was not finished: <<<<<<<; decide between"),
        ({"a.yaml": "# nothing\n"}, "a.yaml: the file is empty; write an intent"),
    ],
)  # fmt: skip
def test_one_cause_is_one_problem(tmp_path: Path, files: dict[str, str], words: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        load(tmp_path / "a.yaml")
    assert len(caught.value.problems) == 1
    assert words in str(caught.value)


@pytest.mark.parametrize("value", ["010", "on", "99999999999999999999999", "!!str 4"])
def test_a_value_that_is_refused_is_told_once(value: str) -> None:
    text = "name: x\ncompute: {rails: %s}\n" % value  # noqa: UP031
    with pytest.raises(InputError) as caught:
        load_text(text)
    assert [problem.path for problem in caught.value.problems].count("compute.rails") == 1


def test_what_has_no_size_is_read_to_a_limit() -> None:
    with pytest.raises(InputError, match=r"/dev/zero: is larger than 8388608 bytes"):
        load(Path("/dev/zero"))
