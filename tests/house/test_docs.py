"""Documentation leads somewhere: every page is in the index, every link inside the tree resolves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def pages(tree: Path) -> list[Path]:
    return [*sorted((tree / "docs").glob("*.md")), tree / "README.md", tree / "CHANGELOG.md"]


def test_every_page_is_in_the_index(tree: Path) -> None:
    listed = set(_LINK.findall((tree / "docs/index.md").read_text(encoding="utf-8")))
    missing = {path.name for path in (tree / "docs").glob("*.md")} - {"index.md"} - listed
    assert not missing, f"add to docs/index.md: {sorted(missing)}"


def test_links_inside_the_tree_resolve(tree: Path) -> None:
    broken = []
    for page in pages(tree):
        for link in _LINK.findall(page.read_text(encoding="utf-8")):
            target = link.partition("#")[0]
            if target and "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(tree)}: {link}")
    assert not broken


def test_readme_names_verbs_that_exist(tree: Path) -> None:
    from fabric.cli.verbs import VERBS

    text = (tree / "README.md").read_text(encoding="utf-8")
    used = set(re.findall(r"^(?:\$lab )?railfab ([a-z]+)", text, re.MULTILINE))
    assert len(used) >= 8
    assert used <= set(VERBS)
    for verb in used:
        assert (tree / f"fabric/cli/{VERBS[verb][0]}.py").exists()


@pytest.mark.parametrize("script", ["demo", "test", ".ci/run"])
def test_readme_and_docs_speak_of_the_scripts(tree: Path, script: str) -> None:
    told = "".join(page.read_text(encoding="utf-8") for page in pages(tree))
    assert script in told
    assert (tree / script).is_file()
