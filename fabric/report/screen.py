"""The report on a terminal, in colour and wrapped to its width."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fabric.report.terminal import Line, report_lines

if TYPE_CHECKING:
    from fabric.values.finding import Report


def show(report: Report, fabric: str, verbose: bool = False) -> None:
    """Print the report."""
    show_lines(report_lines(report, fabric, verbose))


def show_lines(lines: Iterable[Line]) -> None:
    """Print styled lines; long ones are wrapped under their own indent."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False)
    for line in lines:
        text = Text()
        for piece, style in line:
            text.append(piece, style=style or "none")
        indent = len(text.plain) - len(text.plain.lstrip(" "))
        console.print(Padding(text[indent:], (0, 0, 0, indent)) if indent else text)
