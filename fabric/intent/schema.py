"""The JSON Schema of an intent file, as written in YAML (`speed: 400G`, not 400000)."""

from __future__ import annotations

import json
from typing import Any

from fabric.intent.shapes import Intent

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of intents. It allows `include`, and `x-` keys as a place for anchors."""
    document = Intent.model_json_schema(by_alias=True, mode="validation")
    document = {"$schema": _DIALECT, "title": "railfab intent", **document}
    document["title"] = "railfab intent"
    document["properties"]["include"] = {
        "description": "YAML files, relative to this one, that this one is laid over",
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
    }
    document["patternProperties"] = {"^x-": {}}
    # What an included file gives need not stand in this one.
    document["if"] = {"required": ["include"]}
    document["then"] = {}
    document["else"] = {"required": document.pop("required")}
    return document


def schema_text() -> str:
    """The schema as text, the same bytes each time."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
