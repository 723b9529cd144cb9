"""The page about intents names every key there is."""

from __future__ import annotations

from pathlib import Path

from fabric.intent.shapes import Compute, HostClass, Intent, Override, Pod, StateEntry, Storage


def test_every_key_is_named(tree: Path) -> None:
    text = (tree / "docs" / "intent.md").read_text()
    wanted = [
        field.alias or name
        for shape in (Intent, Compute, HostClass, Override, Pod, StateEntry, Storage)
        for name, field in shape.model_fields.items()
    ]
    quiet = {"mtu", "name", "length_m", "device_type", "pod", "places", "nics", "state", "platform", "speed"}
    assert [key for key in wanted if key not in text and key not in quiet] == []
