"""Judge one configuration, a change of one, or many files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fabric.lint import _addresses, _buffers, _ports, _qos, _references, _routing, _watchdog, across
from fabric.lint.expected import compare
from fabric.lint.shape import read_tables
from fabric.lint.view import Config, found, natural, some
from fabric.lint.yang import Violation, YangModels
from fabric.values.device_config import DeviceConfig, Tables
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.plan import HeadroomRow

_RULES = (
    *_ports.RULES,
    *_addresses.RULES,
    *_references.RULES,
    *_routing.RULES,
    *_qos.RULES,
    *_watchdog.RULES,
    *_buffers.RULES,
)
_NO_TABLE = "a table no model describes; SONiC loads it with a note, and GCU and (from 202405) config reload refuse it"


def lint_tables(
    tables: object,
    *,
    yang: YangModels | None = None,
    platform_rows: Sequence[HeadroomRow] | None = None,
    expected: DeviceConfig | None = None,
    device: str | None = None,
) -> list[Finding]:
    """Everything wrong with one switch's CONFIG_DB: its shape, our rules, SONiC's models, the Plan.

    `tables` is what JSON gave (nested tables or a redis-style dump). `platform_rows` are the rows of the platform's
    pg_profile_lookup.ini; without them cable lengths are not judged against it. `expected` is what the Plan renders
    for this switch. Findings come sorted by table and key, failures and warnings mixed; empty means sound.
    """
    clean, findings = read_tables(tables, device)
    return _judge(Config(clean, device, platform_rows), findings, yang, expected)


def _judge(
    config: Config, findings: list[Finding], yang: YangModels | None, expected: DeviceConfig | None
) -> list[Finding]:
    own = [finding for rule in _RULES for finding in rule(config)]
    findings = [*findings, *own]
    if yang is not None:
        findings += list(_by_models(config, yang, findings))
    if expected is not None:
        findings += compare(config.tables, expected)
    findings.sort(key=lambda finding: natural(finding.evidence or ""))
    if config.device is not None:
        findings = [replace(finding, device=finding.device or config.device) for finding in findings]
    return findings


def _by_models(config: Config, yang: YangModels, named: Sequence[Finding]) -> Iterable[Finding]:
    """CFG-06 (a table no model knows) and CFG-07 (the models refuse it), without what our own rules already named."""
    places = {_place(finding) for finding in named if finding.status is Status.FAIL}
    references = _missing_references(named)
    for table in yang.unknown_tables(config.tables):
        yield found("CFG-06", (table, None, None), _NO_TABLE, "drop the table, or give its model", status=Status.WARN)
    open_ends: dict[str, list[Violation]] = {}
    for violation in yang.judge(config.tables):
        target = violation.target
        if target is not None and not config.whole_switch and not config.has(target):
            open_ends.setdefault(target, []).append(violation)
            continue
        finding = _as_finding(violation)
        if _place(finding) not in places and (violation.table, violation.field, violation.value) not in references:
            yield finding
    for target, violations in open_ends.items():
        tables = sorted({violation.table or "" for violation in violations})
        yield found(
            "CFG-08",
            (target, None, None),
            f"a fragment without {target}: {len(violations)} references from {some(tables)} could not be judged",
            f"judge the fragment together with a {target} table, as the switch will hold it",
            status=Status.UNKNOWN,
            severity=Severity.INFO,
            confidence=Confidence.CERTAIN,
        )


def _place(finding: Finding) -> str:
    """Table, key and field of a finding, without the value."""
    return (finding.evidence or "").partition(" = ")[0]


def _missing_references(findings: Iterable[Finding]) -> set[tuple[str | None, str | None, str | None]]:
    """Table, field and value of every missing reference our own rule has named once for all its rows."""
    seen: set[tuple[str | None, str | None, str | None]] = set()
    for finding in findings:
        if finding.code == "CFG-30":
            place, _, value = (finding.evidence or "").partition(" = ")
            seen.add((place.partition("|")[0], place.rpartition(" field ")[2], value.strip('"')))
    return seen


def _as_finding(violation: Violation) -> Finding:
    what = violation.why
    return found(
        "CFG-07",
        (violation.table or "config_db", violation.key, violation.field),
        what,
        violation.remedy,
        value=violation.value,
        allowed=violation.allowed,
    )


@dataclass(frozen=True, slots=True)
class ResultVerdict:
    """Whether a changed configuration may be sent. `introduced` is what the change brings; `standing` was wrong before
    and is not its fault, yet SONiC refuses the change because of it (F024)."""

    introduced: tuple[Finding, ...] = ()
    standing: tuple[Finding, ...] = ()

    @property
    def sound(self) -> bool:
        """No failure in the result, old or new."""
        return not any(finding.status is Status.FAIL for finding in (*self.introduced, *self.standing))


def judge_result(
    before: Tables,
    after: Tables,
    *,
    yang: YangModels | None = None,
    platform_rows: Sequence[HeadroomRow] | None = None,
    device: str | None = None,
) -> ResultVerdict:
    """Judge what a change leaves behind, and split it into what the change brings and what stood there before."""
    old = {
        (finding.code, finding.evidence)
        for finding in lint_tables(before, yang=yang, platform_rows=platform_rows, device=device)
    }
    result = lint_tables(after, yang=yang, platform_rows=platform_rows, device=device)
    introduced = tuple(finding for finding in result if (finding.code, finding.evidence) not in old)
    standing = tuple(finding for finding in result if (finding.code, finding.evidence) in old)
    return ResultVerdict(introduced, standing)


@dataclass(frozen=True, slots=True)
class Document:
    """One file to judge: `name` as the user gave it, the device it is for, the JSON value it holds."""

    name: str
    device: str
    data: object
    platform_rows: tuple[HeadroomRow, ...] | None = None
    expected: DeviceConfig | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found in one file."""

    document: Document
    findings: tuple[Finding, ...] = field(default=())


def lint_documents(documents: Sequence[Document], *, yang: YangModels | None = None) -> list[Judged]:
    """Judge many files: each by itself, then both ends of the cables between them (codes CFG-80 to CFG-83)."""
    judged: list[list[Finding]] = []
    configs: dict[str, Config] = {}
    owner: dict[str, int] = {}
    for index, document in enumerate(documents):
        clean, findings = read_tables(document.data, document.device)
        config = Config(clean, document.device, document.platform_rows)
        judged.append(_judge(config, findings, yang, document.expected))
        if document.device not in configs:
            configs[document.device] = config
            owner[document.device] = index
    _share_findings(configs, owner, judged)
    return [Judged(document, tuple(findings)) for document, findings in zip(documents, judged)]


def _share_findings(configs: Mapping[str, Config], owner: Mapping[str, int], judged: list[list[Finding]]) -> None:
    if len(configs) < 2:
        return
    for rule in across.RULES:
        for finding in rule(configs):
            judged[owner[finding.device or ""]].append(finding)
