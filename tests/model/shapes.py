"""Random valid intents for property tests, small enough to be many."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import strategies as st

from fabric.intent import IntentFile, load_text

Document = dict[str, Any]


@st.composite
def documents(draw: st.DrawFn, tiers: int | None = None, attachment: str | None = None) -> Document:
    """An intent as plain values: one to three pods, two or three tiers, planes, segments, reserve places."""
    kind = attachment or draw(st.sampled_from(["rail-optimized", "rail-optimized", "rail-only", "tor"]))
    three = (tiers == 3) if tiers is not None else (kind != "rail-only" and draw(st.booleans()))
    rails = draw(st.integers(1, 4))
    planes = draw(st.sampled_from([1, 1, 2]))
    places = draw(st.integers(2, 6))
    pods: list[Document] = []
    number = 1
    for _ in range(draw(st.integers(1, 3))):
        segments = draw(st.integers(1, 2))
        count = draw(st.integers(0, segments * places - 1))
        pod: Document = {"segments": segments}
        if count:
            pod["nodes"] = f"n[{number:03d}-{number + count - 1:03d}]"
            number += count
        pods.append(pod)
    speed = draw(st.sampled_from(["400G", "800G"]))
    document: Document = {
        "name": "any",
        "classes": {"kind": {"nics": rails, "speed": "400G"}},
        "buffers_from": "dell-z9864f",
        "compute": {
            "attachment": kind,
            "rails": rails,
            "planes": planes,
            "places": places,
            "leaf": {"platform": "accton-as9817-64o", "hosts": draw(st.sampled_from(["first", "last"]))},
            "spine": {
                "platform": "accton-as9817-64o",
                "count": draw(st.integers(1, 3)),
                "links": draw(st.integers(1, 2)),
                "speed": speed,
            },
            "pods": pods,
        },
        "addressing": {"family": draw(st.sampled_from(["ipv4", "ipv4", "dual", "ipv6"]))},
    }
    if kind == "tor":
        document["compute"]["tor_leaves"] = draw(st.integers(1, min(2, rails)))
    if three:
        groups = draw(st.integers(1, document["compute"]["spine"]["count"]))
        size = draw(st.integers(1, 2))
        dealt = draw(st.booleans())
        document["compute"]["superspine"] = {
            "platform": "accton-as9817-64o",
            "count": groups * size,
            "groups": groups,
            ("uplinks" if dealt else "links"): draw(st.integers(size, 2 * size + 1))
            if dealt
            else draw(st.integers(1, 2)),
            "speed": "800G",
        }
    return document


def file_of(document: Document) -> IntentFile:
    """The intent of a document, by way of text as a user would have it."""
    return load_text(yaml.safe_dump(document, sort_keys=False))
