"""Intent: YAML text -> `Intent`, every problem at once with file, line, key path and remedy."""

from __future__ import annotations

from fabric.intent.load import IntentFile, load, load_text
from fabric.intent.schema import schema, schema_text
from fabric.intent.shapes import Intent

__all__ = ["Intent", "IntentFile", "load", "load_text", "schema", "schema_text"]
