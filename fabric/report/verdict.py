"""A go or no-go for a person: the answer, then why, then what to do."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.report.terminal import Line, finding_lines, moment
from fabric.values.verdict import Answer, Verdict

_STYLE = {
    Answer.GO: "bold green",
    Answer.WARN: "bold yellow",
    Answer.NO_GO: "bold red",
    Answer.UNKNOWN: "bold yellow",
}


def verdict_lines(verdict: Verdict, fabric: str) -> Iterator[Line]:
    """The verdict as styled lines."""
    from hostlist import collect_hostlist

    count = len(verdict.nodes)
    # In Slurm's own form: "gpu001 to gpu003" would name a node between them that nobody judged.
    named = verdict.nodes[0] if count == 1 else f"{collect_hostlist(verdict.nodes)}, {count} nodes"
    when = f", seen {moment(verdict.taken_at)}" if verdict.taken_at else ""
    yield ((f"{verdict.verdict.value.upper()} ", _STYLE[verdict.verdict]), (f"{fabric}: {named}{when}", "bold"))
    summary = verdict.summary
    yield (
        (
            f"{summary.fail} failed, {summary.unknown} cannot tell, {summary.warn} warnings touch this job; "
            f"{summary.passed} of its NICs are clean",
            "",
        ),
    )
    for number, finding in enumerate(verdict.findings, 1):
        yield from finding_lines(finding, number, verbose=False)
