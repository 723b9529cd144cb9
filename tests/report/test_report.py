"""One report in six forms: complete, escaped, readable by what reads it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.report import check_document, render_text, save, write_report
from fabric.report.matrix import rail_matrix
from fabric.report.terminal import place, report_lines
from fabric.report.terminal import verdict_of as word_of
from fabric.values.finding import Finding, Report, Severity, Status, Summary, summarize
from fabric.whatif.faults import BgpdDown, Cut, Dead, LldpRow, NoLldp, Swap, Unreachable
from fabric.whatif.synthetic import place as at
from tests.checks.bench import judge, two_pods
from tests.schemas import problems

FORMS = ("text", "json", "junit", "md", "html", "prom")
NASTY = '<script>alert("x")</script>|`rm -rf`\x1b[31m\x00 {{7*7}} & "quoted" \\ \n# heading'


@pytest.fixture(scope="module")
def sick() -> Report:
    return judge(
        two_pods(),
        [
            Swap(at("gpu001:rail0"), at("gpu001:rail1")),
            Cut(at("p1-l2:Ethernet256")),
            Dead("gpu004"),
            Unreachable("p2-l3"),
            NoLldp(at("gpu006:rail1")),
            BgpdDown("s1"),
        ],
    )


@pytest.fixture(scope="module")
def well() -> Report:
    return judge(two_pods())


def hostile() -> Report:
    """A switch may send anything in an LLDP name."""
    return judge(two_pods(), [LldpRow(at("p1-l0:Ethernet0"), {"system_name": NASTY, "chassis_id": "x"})])


@pytest.mark.parametrize("form", FORMS)
def test_every_form_names_every_finding(form: str, sick: Report) -> None:
    text = write_report(form, sick, two_pods().plan)
    for finding in sick.findings:
        assert finding.code in text
    for name in ("gpu001", "gpu004", "p2-l3", "p1-l2", "s1"):
        assert name in text


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_healthy_report_says_so_and_is_never_empty(form: str, well: Report) -> None:
    text = write_report(form, well, two_pods().plan)
    assert text.strip()
    assert str(well.summary.passed) in text.replace(",", "")


# Terminal


def test_the_summary_comes_first_then_what_to_do_then_the_findings(sick: Report) -> None:
    text = render_text(sick, "lab")
    lines = text.splitlines()
    assert lines[0].startswith("lab  2026-09-21")
    assert lines[0].endswith("FAIL")
    assert "failed" in lines[1]
    assert text.index("What to do") < text.index("seen:")
    assert "At gpu001: exchange the plugs in rail0 and rail1." in text


def test_a_pipe_gets_no_colour(sick: Report) -> None:
    assert "\x1b" not in render_text(sick, "lab")


def test_consequences_are_counted_and_shown_on_demand(sick: Report) -> None:
    short, long = render_text(sick, "lab"), render_text(sick, "lab", verbose=True)
    assert "-v shows them" in short
    assert "-v shows them" not in long
    assert long.count("hence:") > short.count("hence:")


@pytest.mark.parametrize(
    ("summary", "word"),
    [
        (Summary(passed=5), "HEALTHY"),
        (Summary(passed=5, warn=1), "HEALTHY, with warnings"),
        (Summary(passed=5, unknown=1), "CANNOT TELL"),
        (Summary(), "CANNOT TELL"),
        (Summary(passed=5, missing_devices=("s0",)), "CANNOT TELL"),
        (Summary(passed=5, unknown=1, fail=1), "FAIL"),
    ],
)
def test_nothing_judged_is_never_healthy(summary: Summary, word: str) -> None:
    assert word_of(summary)[0] == word


def test_places_are_said_as_people_say_them() -> None:
    base = Finding("TOPO-01", Status.FAIL)
    assert place(base) == "fabric"
    assert place(Finding("X-01", Status.FAIL, device="p1-l0", port="Ethernet0", node="gpu001", nic="rail0")) == (
        "p1-l0 Ethernet0, gpu001 rail0"
    )
    assert place(Finding("X-01", Status.FAIL, nodes=("a", "b", "c", "d", "e"), rails=(0, 1))) == (
        "nodes a, b, c, d and 1 more, rails 0, 1"
    )


# JSON


def test_json_is_as_documented(sick: Report, well: Report) -> None:
    for report in (sick, well):
        document = check_document(report, "lab")
        assert problems(json.loads(json.dumps(document))) == []
        assert json.loads(write_report("json", report, two_pods().plan))["summary"]["fail"] == report.summary.fail


# JUnit


def test_junit_counts_fit_its_cases(sick: Report) -> None:
    root = ET.fromstring(write_report("junit", sick, two_pods().plan))
    (suite,) = root
    cases = suite.findall("testcase")
    assert int(suite.get("tests", "0")) == len(cases) == len(sick.findings) + 1
    assert int(suite.get("failures", "0")) == len(suite.findall("testcase/failure")) == sick.summary.fail
    assert int(suite.get("errors", "0")) == len(suite.findall("testcase/error"))


def test_an_empty_report_is_an_error_in_junit() -> None:
    root = ET.fromstring(write_report("junit", Report(), two_pods().plan))
    assert root[0].get("errors") == "1"


# Markdown, HTML, Prometheus: what a switch sends is text and nothing else


def test_markdown_stays_one_table(sick: Report) -> None:
    text = write_report("md", sick, two_pods().plan)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) == len(sick.findings) + 2
    assert {len(re.split(r"(?<!\\)\|", row)) for row in rows} == {6}


class _Tags(HTMLParser):
    """Tags of a page, and whether they close."""

    VOID = frozenset({"meta", "line", "rect", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.links.extend(value or "" for name, value in attrs if name in ("href", "src"))
        if tag not in self.VOID or tag in ("line", "rect"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _page(report: Report) -> _Tags:
    tags = _Tags()
    tags.feed(write_report("html", report, two_pods().plan))
    tags.close()
    assert tags.open == []
    return tags


def test_html_is_whole_and_loads_nothing(sick: Report, well: Report) -> None:
    for report in (sick, well, Report()):
        tags = _page(report)
        assert "script" not in tags.seen
        assert all(link.startswith("#") for link in tags.links)
        assert "url(" not in write_report("html", report, two_pods().plan)


def test_hostile_names_are_text_everywhere() -> None:
    report = hostile()
    assert "alert" in (report.findings[0].observed or "")
    tags = _page(report)
    assert "script" not in tags.seen
    assert not {name for name in tags.attributes if name.startswith("on")}
    ET.fromstring(write_report("junit", report, two_pods().plan))
    markdown = write_report("md", report, two_pods().plan)
    assert "<script>" not in markdown
    assert "\n# heading" not in markdown
    json.loads(write_report("json", report, two_pods().plan))
    assert "\x1b" not in write_report("text", report, two_pods().plan)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40))
def test_any_text_survives_every_form(text: str) -> None:
    findings = (
        Finding(
            "TOPO-01", Status.FAIL, Severity.BLOCK, device=text, port=text, observed=text, remedy=text, nodes=(text,)
        ),
    )
    report = Report(findings, summarize(findings, passed=1), notes=(text,))
    plan = two_pods().plan
    for form in FORMS:
        write_report(form, report, plan).encode("utf-8", "surrogatepass")
    ET.fromstring(write_report("junit", report, plan))
    for line in write_report("prom", report, plan).splitlines():
        assert line.startswith(("#", "railfab_")), line


def test_prometheus_text_is_well_formed(sick: Report) -> None:
    sample = re.compile(r'^railfab_[a-z_]+(\{([a-z_]+="(\\.|[^"\\\n])*",?)*\})? -?[0-9.]+(e[+-]?\d+)?$')
    text = write_report("prom", sick, two_pods().plan)
    lines = text.splitlines()
    samples = [line for line in lines if not line.startswith("#")]
    assert all(sample.match(line) for line in samples)
    assert len({line.rsplit(" ", 1)[0] for line in samples}) == len(samples), "a series twice"
    assert 'railfab_checks{fabric="test",status="fail"} 4' in lines
    assert 'railfab_rail{fabric="test",node="gpu001",rail="0"} 3' in lines
    assert 'railfab_rail{fabric="test",node="gpu002",rail="0"} 0' in lines


# How it has been


def test_the_trend_shows_the_worst_of_each_stretch(well: Report) -> None:
    trend = [(1_790_000_000.0 + 60 * n, {"fail": int(n == 777), "warn": n % 2, "unknown": 0}) for n in range(2000)]
    page = write_report("html", well, two_pods().plan, trend=trend)
    assert "How it has been" in page
    assert page.count('fill="var(--fail)"><title>2026') == 1
    assert page.count("<rect") < 700
    for short in ([], trend[:1]):
        assert "How it has been" not in write_report("html", well, two_pods().plan, trend=short)
    odd: list[tuple[float, dict[str, int]]] = [(1.0, {}), (2.0, {"fail": -1})]
    assert "How it has been" in write_report("html", well, two_pods().plan, trend=odd)


# The heat map


def test_the_matrix_shows_each_rail_at_its_worst(sick: Report) -> None:
    cells = rail_matrix(two_pods().plan, sick).cells
    assert cells["gpu001", 0] == cells["gpu001", 1] == "fail"
    assert cells["gpu001", 2] == "ok"
    assert {cells["gpu004", rail] for rail in range(4)} == {"fail"}
    assert cells["gpu005", 3] == "unknown"
    assert cells["gpu006", 1] == "unknown"
    assert len(cells) == 32


def test_a_matrix_of_nothing_judged_is_unknown_all_over() -> None:
    assert set(rail_matrix(two_pods().plan, Report()).cells.values()) == {"unknown"}


def test_lines_can_be_styled_on_a_terminal(sick: Report) -> None:
    from rich.console import Console

    from fabric.report import screen

    console = Console(record=True, width=80, force_terminal=True)
    lines = list(report_lines(sick, "lab"))
    assert any(style for line in lines for _, style in line)
    with console.capture() as captured:
        for line in lines:
            console.print("".join(text for text, _ in line))
    assert "What to do" in captured.get()
    screen.show(sick, "lab")


def test_a_report_file_is_written_whole(tmp_path: Path) -> None:
    target = tmp_path / "r.html"
    save(target, "<p>one</p>")
    save(target, "<p>two</p>")
    assert target.read_text() == "<p>two</p>"
    assert [entry.name for entry in tmp_path.iterdir()] == ["r.html"]
