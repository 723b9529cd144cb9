"""Writing whole files and taking turns: devices, links, modes, full disks, killed writers, two at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fabric.errors import InputError
from fabric.files import read_bounded, turn, write_whole


def test_text_and_bytes_are_written(tmp_path: Path) -> None:
    path = tmp_path / "weird ; $(id) é.txt"
    write_whole(path, "ä")
    assert path.read_bytes() == "ä".encode()
    write_whole(path, b"\0")
    assert path.read_bytes() == b"\0"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_long_name_is_written(tmp_path: Path) -> None:
    write_whole(tmp_path / ("x" * 250), "a")
    assert (tmp_path / ("x" * 250)).read_text() == "a"


def test_mode_is_kept_and_new_files_follow_the_mask(tmp_path: Path) -> None:
    path = tmp_path / "a"
    before = os.umask(0o027)
    try:
        write_whole(path, "1")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o664)
    write_whole(path, "2")
    assert path.stat().st_mode & 0o777 == 0o664


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_text("old")
    link = tmp_path / "link"
    link.symlink_to(real)
    write_whole(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, "through")
    reader.join(5)
    assert got == [b"through"]
    assert pipe.is_fifo()


def test_standard_output_can_be_named() -> None:
    code = "from pathlib import Path; from fabric.files import write_whole; write_whole(Path('/dev/stdout'), 'x')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"x"


@pytest.mark.parametrize("where", ["nosuch/a", "folder", "file/a", "x" * 300])
def test_what_cannot_be_written_is_said(tmp_path: Path, where: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be written: .*; do this"):
        write_whole(tmp_path / where, "a", "do this")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]


def test_a_writer_that_is_killed_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    code = (
        "import os, signal, sys; from pathlib import Path; import fabric.files as files\n"
        "files.os.fsync = lambda fd: os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.write_whole(Path(sys.argv[1]), 'new')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == -9
    assert path.read_text() == "old"


def test_turns_are_taken(tmp_path: Path) -> None:
    seen: list[str] = []

    def one(name: str) -> None:
        with turn(tmp_path):
            seen.append(name)
            time.sleep(0.05)
            seen.append(name)

    threads = [threading.Thread(target=one, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(seen) == 8
    assert all(seen[at] == seen[at + 1] for at in range(0, 8, 2))
    assert list(tmp_path.iterdir()) == []


def test_a_turn_that_does_not_come_is_said(tmp_path: Path) -> None:
    with (
        turn(tmp_path),
        pytest.raises(InputError, match=r"another railfab .* 0 s; let it finish"),
        turn(tmp_path, "", 0),
    ):
        pytest.fail("both had it")
    with turn(tmp_path, "", 0):
        pass


def test_a_folder_is_made_for_a_turn(tmp_path: Path) -> None:
    with turn(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be used: .*; elsewhere"), turn(tmp_path / "file", "elsewhere"):
        pytest.fail("a file is no folder")


def test_reading_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
    with pytest.raises(InputError, match=r"a: is larger than 4 bytes"):
        read_bounded(path, 4)
    for wrong in (tmp_path, tmp_path / "nosuch", Path("a\0b")):
        with pytest.raises(InputError, match="cannot be read"):
            read_bounded(wrong, 4)
