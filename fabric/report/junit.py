"""JUnit XML for CI systems: one test case a finding, and one that stands for everything that passed."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from fabric.report.terminal import place
from fabric.values.finding import Finding, Report, Status

# Characters XML 1.0 does not allow at all, escaped or not.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: Report, fabric: str) -> str:
    """The report as a JUnit test suite: fail is a failure, cannot tell an error, a warning goes to system-out."""
    summary = report.summary
    suite = ET.Element(
        "testsuite",
        name=f"railfab.check.{fabric}",
        tests=str(len(report.findings) + 1),
        failures=str(summary.fail),
        errors=str(summary.unknown),
        skipped="0",
    )
    rest = ET.SubElement(suite, "testcase", classname=f"{fabric}.checks", name=f"{summary.passed} checks passed")
    if summary.missing_devices or not (summary.passed or summary.fail or summary.warn):
        missing = ", ".join(summary.missing_devices) or "nothing was judged"
        ET.SubElement(rest, "error", message=clean(f"no data from {missing}"), type="COV-01")
        suite.set("errors", str(summary.unknown + 1))
    for finding in report.findings:
        case = ET.SubElement(
            suite, "testcase", classname=f"{fabric}.{finding.code}", name=clean(f"{finding.code} {place(finding)}")
        )
        tag = {Status.FAIL: "failure", Status.UNKNOWN: "error"}.get(finding.status)
        target = ET.SubElement(case, tag or "system-out")
        if tag:
            target.set("message", clean(finding.observed or finding.code))
            target.set("type", finding.code)
        target.text = clean(_body(finding))
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def clean(text: str) -> str:
    """Text without what XML cannot hold (a switch may send anything in an LLDP name)."""
    return _FORBIDDEN.sub("\ufffd", text)


def _body(finding: Finding) -> str:
    lines = [
        f"{label}: {text}"
        for label, text in (
            ("seen", finding.observed),
            ("planned", finding.expected),
            ("because", finding.evidence),
            ("do", finding.remedy),
        )
        if text
    ]
    lines.extend(f"hence: {below.code} {place(below)}: {below.observed}" for below in finding.consequences)
    return "\n".join(lines)
