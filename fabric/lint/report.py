"""Judge files and say what was found: the report of `railfab lint`, as lines for a person and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from fabric.lint.expected import compare_text
from fabric.lint.files import ReadFile, find_files, read_file
from fabric.lint.run import Document, lint_documents
from fabric.lint.view import found, some
from fabric.lint.yang import YangModels
from fabric.values.device_config import DeviceConfig
from fabric.values.finding import Finding, Status, Summary, exit_code, finding_json, summarize, summary_json
from fabric.values.plan import HeadroomRow

# Host name and HwSKU of a file -> the platform's headroom rows, or None where nobody knows them.
RowsFor = Callable[[str, str], Sequence[HeadroomRow] | None]
_WORDS = {Status.FAIL: "FAIL", Status.WARN: "warn", Status.UNKNOWN: "UNKNOWN", Status.PASS: "pass"}


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file and what was found in it; no failure and no unknown means sound."""

    path: Path
    device: str
    findings: tuple[Finding, ...]

    def count(self, status: Status) -> int:
        """How many findings have this status."""
        return sum(finding.status is status for finding in self.findings)

    @property
    def sound(self) -> bool:
        """Judged, and nothing failed."""
        return not self.count(Status.FAIL) and not self.count(Status.UNKNOWN)


@dataclass(frozen=True, slots=True)
class LintReport:
    """What lint says about some files. `yang` is the folder of models they were judged by, None without any."""

    files: tuple[FileReport, ...]
    summary: Summary
    yang: Path | None = None
    compared: bool = False
    judged: int = field(default=0)

    def exit_code(self, strict: bool = False) -> int:
        """0 sound, 1 findings (or warnings when `strict`), 2 something could not be judged."""
        return exit_code(self.summary, strict)


def lint_paths(
    paths: Sequence[Path],
    *,
    yang: YangModels | None = None,
    rows_for: RowsFor | None = None,
    expected: Mapping[str, Callable[[], DeviceConfig]] | None = None,
) -> LintReport:
    """Judge files, and every `config_db*.json` under folders. InputError when a path has nothing to judge.

    `expected` maps each switch of a Plan to what gives its rendered configuration; then every file is compared with
    its switch's, a `frr.conf` beside it too, and switches without a file are missing (when whole folders were given).
    """
    files = [read_file(path) for path in find_files(paths)]
    documents = {
        index: Document(
            str(file.path),
            file.device,
            file.data,
            _rows(file, rows_for),
            expected[file.device]() if expected is not None and file.device in expected else None,
        )
        for index, file in enumerate(files)
        if file.data is not None
    }
    judged = dict(zip(documents, lint_documents(list(documents.values()), yang=yang)))
    reports = []
    for index, file in enumerate(files):
        findings = list(file.problems)
        if index in judged:
            findings += judged[index].findings
            findings += _against(file, documents[index], expected)
        reports.append(FileReport(file.path, file.device, tuple(findings)))
    return LintReport(
        tuple(reports),
        summarize(
            (finding for report in reports for finding in report.findings),
            passed=sum(report.sound for report in reports),
            devices=len({report.device for report in reports}),
            missing_devices=_missing(paths, reports, expected),
        ),
        yang.folder if yang is not None else None,
        expected is not None,
        len(documents),
    )


@cache
def catalogue_rows(hwsku: str) -> tuple[HeadroomRow, ...] | None:
    """Headroom rows of a HwSKU of our catalogue; None where the catalogue does not have it, or has no rows for it."""
    from fabric.platforms import available, load

    for key in available():
        platform = load(key)
        if platform.hwsku == hwsku and platform.headroom:
            return platform.headroom
    return None


def _rows(file: ReadFile, rows_for: RowsFor | None) -> tuple[HeadroomRow, ...] | None:
    if rows_for is None:
        return None
    hwsku = ""
    if isinstance(file.data, Mapping):
        metadata = file.data.get("DEVICE_METADATA")
        row = metadata.get("localhost") if isinstance(metadata, Mapping) else None
        hwsku = str(row.get("hwsku", "")) if isinstance(row, Mapping) else ""
    rows = rows_for(file.device, hwsku)
    return None if rows is None else tuple(rows)


def _against(
    file: ReadFile, document: Document, expected: Mapping[str, Callable[[], DeviceConfig]] | None
) -> Iterator[Finding]:
    if expected is None:
        return
    if document.expected is None:
        what = f"the Plan has no switch {file.device} (it has {some(expected)})"
        where = ("DEVICE_METADATA", "localhost", "hostname")
        yield found("CFG-94", where, what, "correct the name, or the intent", value=file.device, device=file.device)
        return
    text = file.path.with_name("frr.conf")
    if document.expected.frr is not None and text.is_file():
        for finding in compare_text(text.read_text(encoding="utf-8", errors="replace"), document.expected.frr):
            yield replace(finding, device=file.device)


def _missing(
    paths: Sequence[Path], reports: Sequence[FileReport], expected: Mapping[str, object] | None
) -> tuple[str, ...]:
    whole = any(path.is_dir() and not (path / "config_db.json").is_file() for path in paths)
    if expected is None or not whole:
        return ()
    return tuple(sorted(set(expected) - {report.device for report in reports}))


def report_json(report: LintReport) -> str:
    """The report as the JSON contract has it (`railfab.lint/1`); each finding also names its file."""
    document = {
        "schema": "railfab.lint/1",
        "yang": None if report.yang is None else {"models": str(report.yang), "files": report.judged},
        "files": [
            {
                "file": str(entry.path),
                "device": entry.device,
                "sound": entry.sound,
                "fail": entry.count(Status.FAIL),
                "warn": entry.count(Status.WARN),
                "unknown": entry.count(Status.UNKNOWN),
            }
            for entry in report.files
        ],
        "findings": [
            {**finding_json(finding), "file": str(entry.path)} for entry in report.files for finding in entry.findings
        ],
        "summary": summary_json(report.summary),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def report_lines(report: LintReport) -> Iterator[str]:
    """The report for a terminal: per file what is wrong and what to do, then the counts."""
    for entry in report.files:
        if not entry.findings:
            continue
        yield f"{entry.path} ({entry.device})"
        for finding, places in _folded(entry.findings):
            more = f" (and {len(places) - 1} more: {some(places[1:], 3)})" if len(places) > 1 else ""
            yield f"  {_WORDS[finding.status]} {finding.code} {places[0]}{more}"
            expected = f"; takes: {finding.expected}" if finding.expected else ""
            yield f"       {finding.observed}{expected}"
            yield f"       do: {finding.remedy}"
    sound = sum(entry.sound for entry in report.files)
    counts = f"{report.summary.fail} failures, {report.summary.warn} warnings, {report.summary.unknown} unknown"
    yield f"{len(report.files)} files: {sound} sound, {len(report.files) - sound} not; {counts}"
    if report.yang is None:
        yield "YANG: not judged (give --yang DIR, a folder of SONiC's models)"
    else:
        yield f"YANG: judged {report.judged} files by {report.yang}"
    if report.summary.missing_devices:
        yield f"no file for {len(report.summary.missing_devices)} switches of the Plan: " + some(
            report.summary.missing_devices, 8
        )


def _folded(findings: Sequence[Finding]) -> list[tuple[Finding, list[str]]]:
    """Findings that say the same about several rows of one table, once, with their places."""
    groups: dict[tuple[object, ...], tuple[Finding, list[str]]] = {}
    for finding in findings:
        place = finding.evidence or ""
        kind = (finding.code, finding.status, place.partition("|")[0], finding.observed, finding.expected)
        groups.setdefault((*kind, finding.remedy), (finding, []))[1].append(place)
    return list(groups.values())
