"""The text a switch answered, cut into the sections its script marked. Pure; raises nothing but CollectError."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fabric.errors import CollectError

# Words that mean "this is not the answer", whatever the exit status said (F099, F107, F110).
_NOT_DATA = (
    ("Traceback (most recent call last)", "the command failed with a traceback"),
    ("the input device is not a TTY", "the command wants a terminal"),
    ("a password is required", "sudo wants a password: the account may not run this"),
    ("a terminal is required", "sudo wants a password: the account may not run this"),
    ("no tty present", "sudo wants a password: the account may not run this"),
    ("is not in the sudoers file", "the account may not use sudo"),
    ("Not allowed to run command", "rvtysh refused the command"),
    ("Permission denied", "permission denied"),
    ("Got permission denied while trying to connect to the Docker daemon", "permission denied (docker)"),
    ("Could not connect to Redis", "Redis does not answer"),
    ("Error response from daemon", "the container is not running"),
    ("No such container", "the container is not there"),
)
_RC = {
    75: "another collector is reading this switch",
    90: "sonic-db-cli did not answer as it should",
    91: "the database grew faster than it could be read",
    124: "no answer in time",
    126: "may not be run by this account",
    127: "not installed on this switch",
    137: "no answer in time",
}


@dataclass(frozen=True, slots=True)
class Section:
    """One part's output. `rc` is None when the answer ended inside it; `errors` is what went to standard error."""

    name: str
    words: tuple[str, ...]
    text: str
    rc: int | None
    errors: str = ""

    def failure(self) -> str | None:
        """Why this is no answer, or None when it looks like one."""
        for text in (self.errors, self.text[:4096]):
            for words, reason in _NOT_DATA:
                if words in text:
                    return reason
        if self.rc is None:
            return "the answer was cut off"
        if self.rc != 0:
            detail = _first_line(self.errors) or _first_line(self.text)
            reason = _RC.get(self.rc, f"failed with exit status {self.rc}")
            return f"{reason}: {detail}" if detail and self.rc not in (75, 124, 137) else reason
        return None


@dataclass(frozen=True, slots=True)
class Answer:
    """All sections of one exec by name. `complete` says that the script reached its end."""

    sections: Mapping[str, Section]
    complete: bool
    noise: str = ""

    def under(self, prefix: str) -> list[Section]:
        """Sections of a database, one a namespace: `db.APPL_DB`, `db.APPL_DB@asic0`, ..."""
        return [section for name, section in self.sections.items() if name == prefix or name.startswith(f"{prefix}@")]


def text_of(answer: str | bytes) -> str:
    """Text of an answer; bytes that are not UTF-8 become the replacement character."""
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
    return text.replace("\r\n", "\n").replace("\0", "\ufffd")


def split(answer: str | bytes, errors: str | bytes = "", *, token: str | None = None) -> Answer:
    """Sections of the answer of `fabric.collect.ask.script`.

    `token` is the one given to the script; None takes the first one seen (a saved answer). CollectError when there is
    no marker at all: a login banner, an error page, or nothing.
    """
    text = text_of(answer)
    if token is None:
        first = re.search(r"^@@([A-Za-z0-9]+) begin ", text, re.MULTILINE)
        if first is None:
            raise CollectError(_no_marker(text, text_of(errors)))
        token = first.group(1)
    # It begins with fixed text: an answer of many megabytes is searched for that, not line by line.
    marker = re.compile(rf"@@{re.escape(token)} (begin|end|done)(?: (.*))?$", re.MULTILINE)
    noise, sections, complete = _cut(marker, text)
    if not sections:
        raise CollectError(_no_marker(text, text_of(errors)))
    _, spoken, _ = _cut(marker, text_of(errors))
    for name, section in list(sections.items()):
        said = spoken.get(name)
        if said is not None:
            sections[name] = Section(name, section.words, section.text, section.rc, said.text.strip())
    return Answer(sections, complete, noise.strip())


def _cut(marker: re.Pattern[str], text: str) -> tuple[str, dict[str, Section], bool]:
    """Text before the first marker, sections (of a name asked twice the last counts), whether `done` was reached."""
    sections: dict[str, Section] = {}
    complete = False
    noise = ""
    current: tuple[str, tuple[str, ...]] | None = None
    place = 0
    for match in marker.finditer(text):
        if match.start() and text[match.start() - 1] != "\n":
            continue
        body = text[place : match.start()]
        kind, rest = match.group(1), match.group(2) or ""
        words = tuple(rest.split())
        if current is None:
            noise = noise or body
        else:
            name, arguments = current
            ended = kind == "end" and len(words) == 2 and words[0] == name
            rc = int(words[1]) if ended and words[1].lstrip("-").isdigit() and len(words[1]) < 6 else None
            sections[name] = Section(name, arguments, _body(body), rc)
            current = None
        if kind == "begin" and words:
            current = (words[0], words[1:])
        complete = complete or kind == "done"
        place = match.end()
    if current is not None:
        sections[current[0]] = Section(current[0], current[1], _body(text[place:]), None)
    return noise, sections, complete


def _body(text: str) -> str:
    """The text without the line ends that belong to the markers."""
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == "\n" else text.strip("\n")


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return "".join(char if char.isprintable() else "?" for char in line[:160])


def _no_marker(text: str, errors: str) -> str:
    for source in (errors, text[:4096]):
        for words, reason in _NOT_DATA:
            if words in source:
                return f"no answer: {reason}"
    line = _first_line(errors) or _first_line(text)
    return f"no answer to the script; the device said: {line}" if line else "no answer to the script: nothing at all"
