"""Judge CONFIG_DB: our own rules, SONiC's YANG models, and the Plan.

`lint_tables` judges one switch's tables, `judge_result` what a change leaves behind, `lint_documents` many files.
Codes are CFG-nn (`fabric.lint.codes`).
"""

from fabric.lint.codes import CODES, Code
from fabric.lint.result import ResultJudge
from fabric.lint.run import Document, Judged, ResultVerdict, judge_result, lint_documents, lint_tables
from fabric.lint.yang import Violation, YangModels

__all__ = [
    "CODES",
    "Code",
    "Document",
    "Judged",
    "ResultJudge",
    "ResultVerdict",
    "Violation",
    "YangModels",
    "judge_result",
    "lint_documents",
    "lint_tables",
]
