"""The question a push asks before it sends anything: would the result be sound?"""

from __future__ import annotations

from fabric.lint.run import judge_result
from fabric.lint.yang import YangModels
from fabric.values.device_config import Tables
from fabric.values.finding import Finding, Status
from fabric.values.plan import Plan

_SAID = 3


class ResultJudge:
    """Judges what a change leaves on each switch of a Plan; `yang` adds SONiC's own models.

    Called with (switch, CONFIG_DB before, CONFIG_DB after): why it must not be sent, or None. What was wrong before
    and stays wrong refuses the change too, because SONiC's updater checks the whole configuration (F024).
    """

    def __init__(self, plan: Plan, yang: YangModels | None = None) -> None:
        self._plan = plan
        self._yang = yang

    def __call__(self, switch: str, before: Tables, after: Tables) -> str | None:
        buffers = self._plan.buffers.get(self._plan.switches[switch].platform)
        rows = buffers.rows if buffers is not None and buffers.borrowed_from is None else None
        verdict = judge_result(before, after, yang=self._yang, platform_rows=rows, device=switch)
        brought, stood = _failed(verdict.introduced), _failed(verdict.standing)
        if brought:
            return f"the result would not be sound: {_words(brought)}"
        if stood:
            return f"what stands on it is not sound and blocks every patch: {_words(stood)}; mend it first"
        return None


def _failed(findings: tuple[Finding, ...]) -> list[Finding]:
    return [finding for finding in findings if finding.status is Status.FAIL]


def _words(findings: list[Finding]) -> str:
    said = [f"{finding.code} {finding.evidence or ''}: {finding.observed or ''}" for finding in findings[:_SAID]]
    more = len(findings) - len(said)
    return "; ".join(said) + (f"; and {more} more" if more else "")
