"""Writers: one report, many readers. Each takes a Report (and the Plan where it draws) and gives text."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from fabric.report.documents import check_document, document
from fabric.report.terminal import render_text

if TYPE_CHECKING:
    from fabric.report.trend import Trend
    from fabric.values.finding import Report
    from fabric.values.plan import Plan

__all__ = ["check_document", "document", "render_text", "save", "write_report"]


def write_report(form: str, report: Report, plan: Plan, *, verbose: bool = False, trend: Trend = ()) -> str:
    """The report as `form`: text, json, junit, md, html or prom. `trend`: earlier reports, for html."""
    if form == "json":
        return document(check_document(report, plan.name))
    if form == "junit":
        from fabric.report.junit import junit

        return junit(report, plan.name)
    if form == "md":
        from fabric.report.markdown import markdown

        return markdown(report, plan)
    if form == "html":
        from fabric.report.html import html

        return html(report, plan, trend)
    if form == "prom":
        from fabric.report.prometheus import prometheus

        return prometheus(report, plan)
    return render_text(report, plan.name, verbose)


def save(path: Path, text: str) -> None:
    """Write a report file whole or not at all. InputError when it cannot be written there."""
    from fabric.errors import InputError, Problem

    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        raise InputError(Problem(what, "give another place with -o", file=str(path))) from None
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
