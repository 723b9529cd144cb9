"""What a switch or an intent sends is text, wherever it is shown: no escape sequence, no line of its own."""

from __future__ import annotations

import html
import re

# C0 and C1 controls, line and paragraph separators, marks that turn the direction of text, lone surrogates.
_ODD = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")


def harmless(text: str) -> str:
    """`text` on one line, with a visible mark in place of what could act on a terminal."""
    return _ODD.sub(lambda found: " " if found[0] in "\t\n\r" else "\ufffd", text)


def escape(text: str) -> str:
    """`text` for HTML, quotes too."""
    return html.escape(harmless(text))
