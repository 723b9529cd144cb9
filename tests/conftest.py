"""Fixtures every room uses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_TREE = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def tree() -> Path:
    """The source tree."""
    return _TREE


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real SONiC files that nobody here wrote (`RAILFAB_SHARED` or ../shared); tests skip where they are absent."""
    folder = Path(os.environ.get("RAILFAB_SHARED", _TREE.parent / "shared"))
    if not (folder / "real").is_dir():
        pytest.skip(f"real SONiC files are not here ({folder.name}/real); set RAILFAB_SHARED to a folder that has them")
    return folder


@pytest.fixture(scope="session")
def yang_folder() -> Path:
    """SONiC's YANG models (`RAILFAB_YANG` or ../shared/yang); tests skip where they are absent."""
    folder = Path(os.environ.get("RAILFAB_YANG", _TREE.parent / "shared" / "yang"))
    if not any(folder.glob("sonic-port.yang")):
        pytest.skip("SONiC's YANG models are not here; set RAILFAB_YANG to a folder of them")
    return folder
