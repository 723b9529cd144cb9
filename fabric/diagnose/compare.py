"""Before and after in one report: what is new since the baseline, what is gone, what stayed."""

from __future__ import annotations

from fabric.values.finding import Changes, Finding, Report

Key = tuple[str, str | None, str | None, str | None, str | None, str | None]


def compare(before: Report, after: Report) -> Changes:
    """Changes of findings on top, known again by code and place, not by their words.

    A finding that got worse or better in status counts as new and gone.
    """
    old = {_key(finding): finding for finding in before.findings}
    new = {_key(finding) for finding in after.findings}
    return Changes(
        since=before.taken_at,
        new=tuple(finding for finding in after.findings if _key(finding) not in old),
        gone=tuple(finding for key, finding in old.items() if key not in new),
        same=sum(_key(finding) in old for finding in after.findings),
    )


def _key(finding: Finding) -> Key:
    return finding.code, finding.status.value, finding.device, finding.port, finding.node, finding.nic
