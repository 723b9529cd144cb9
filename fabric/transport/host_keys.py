"""The known_hosts file: what is enrolled, fingerprints, enrolling on purpose, forgetting after a re-image.

OpenSSH's format, so that `ssh -o UserKnownHostsFile=...` takes the same file. We write plain names only; hashed or
wildcard lines written by others are understood by the libraries, and never removed here.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fabric.errors import HostKeyError


@dataclass(frozen=True, slots=True)
class HostKey:
    """A public host key: algorithm name and base64 blob as they stand in known_hosts."""

    kind: str
    blob: str

    @property
    def fingerprint(self) -> str:
        """SHA256 fingerprint as OpenSSH prints it."""
        digest = hashlib.sha256(base64.b64decode(self.blob)).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def host_name(address: str, port: int) -> str:
    """How OpenSSH writes a host in known_hosts: bare, or `[address]:port` away from port 22."""
    return address if port == 22 else f"[{address}]:{port}"


def read(path: Path) -> dict[str, list[HostKey]]:
    """Plain (not hashed, not wildcard, not marked) entries by host name. HostKeyError when the file is not text."""
    entries: dict[str, list[HostKey]] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return entries
    except (OSError, UnicodeDecodeError) as error:
        raise HostKeyError(f"{path.name}: host keys cannot be read ({error}); nothing was sent") from None
    for line in lines:
        parsed = _parse(line)
        if parsed:
            names, key = parsed
            for name in names:
                entries.setdefault(name, []).append(key)
    return entries


def enrolled(path: Path, address: str, port: int) -> list[HostKey]:
    """Keys enrolled for this address."""
    return read(path).get(host_name(address, port), [])


def refusal(path: Path, device: str, address: str, port: int, seen: HostKey | None) -> HostKeyError:
    """The error for a key that is not enrolled, saying whether it is unknown or has changed."""
    known = enrolled(path, address, port)
    offered = f" It offers {seen.kind} {seen.fingerprint}." if seen else ""
    if known:
        ours = ", ".join(f"{key.kind} {key.fingerprint}" for key in known)
        return HostKeyError(
            f"{device} ({address}): its host key has CHANGED; nothing was sent. Enrolled: {ours}.{offered} "
            "Another box answers there, or it was re-imaged: find out which, then `railfab trust INTENT --renew "
            f"{device}`"
        )
    return HostKeyError(
        f"{device} ({address}): its host key is not enrolled; nothing was sent.{offered} "
        "Run `railfab trust INTENT` on a network you trust"
    )


def enrol(path: Path, found: Iterable[tuple[str, int, HostKey]], *, replace: bool = False) -> None:
    """Add keys (address, port, key); `replace` first forgets what was enrolled for these addresses.

    The file is written beside and renamed, mode 0600; lines of others are kept as they are.
    """
    found = list(found)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    if replace:
        gone = {host_name(address, port) for address, port, _ in found}
        lines = [kept for line in lines if (kept := _without(line, gone)) is not None]
    present = set(lines)
    for address, port, key in found:
        line = f"{host_name(address, port)} {key.kind} {key.blob}"
        if line not in present:
            present.add(line)
            lines.append(line)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=".known_hosts.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _parse(line: str) -> tuple[list[str], HostKey] | None:
    words = line.split()
    if len(words) < 3 or words[0].startswith(("#", "@", "|")):
        return None
    try:
        base64.b64decode(words[2], validate=True)
    except (binascii.Error, ValueError):
        return None
    return words[0].split(","), HostKey(words[1], words[2])


def _without(line: str, gone: set[str]) -> str | None:
    parsed = _parse(line)
    if parsed is None:
        return line
    names = [name for name in parsed[0] if name not in gone]
    if len(names) == len(parsed[0]):
        return line
    return " ".join([",".join(names), *line.split()[1:]]) if names else None
