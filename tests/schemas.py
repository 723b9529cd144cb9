"""The JSON Schemas of docs/json.md, for any test that has a real document at hand."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"^```json\n(.*?)^```", re.DOTALL | re.MULTILINE)
_DOCUMENT = Path(__file__).resolve().parent.parent / "docs/json.md"


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """`railfab.<kind>/1` -> schema, as docs/json.md has them. Its `$id` is `urn:railfab:<kind>:1`."""
    found = [json.loads(block) for block in _BLOCK.findall(_DOCUMENT.read_text(encoding="utf-8"))]
    return {"railfab.{2}/{3}".format(*schema["$id"].split(":")): schema for schema in found}


@cache
def _registry() -> Any:
    from referencing import Registry, Resource

    return Registry().with_resources([(schema["$id"], Resource.from_contents(schema)) for schema in schemas().values()])


def problems(document: dict[str, Any]) -> list[str]:
    """What a document has against its schema, with the path of each; empty when it is as documented."""
    from jsonschema import Draft202012Validator

    kind = document.get("schema")
    if not isinstance(kind, str) or kind not in schemas():
        return [f"docs/json.md has no schema {kind!r}"]
    validator = Draft202012Validator(schemas()[kind], registry=_registry())
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]
