"""What a collection got and what it did not, for people and as `railfab.collect/1`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fabric.values.snapshot import Snapshot


def document(snapshot: Snapshot, *, snapshot_file: str | None, baseline_file: str | None) -> dict[str, Any]:
    """The JSON document: each device with its holes, or why it is missing."""
    devices: list[dict[str, Any]] = []
    for kind, states in (("switch", snapshot.switches), ("host", snapshot.hosts)):
        for name, state in states.items():
            devices.append(
                {
                    "name": name,
                    "kind": kind,
                    "status": "holes" if state.holes else "read",
                    "taken_at": state.taken_at,
                    "duration_s": getattr(state, "duration_s", None),
                    "source": state.source,
                    "holes": [{"part": hole.part, "reason": hole.reason} for hole in state.holes],
                    "notes": list(getattr(state, "notes", ())),
                    "error": None,
                }
            )
    for name, reason in snapshot.missing.items():
        devices.append(
            {
                "name": name, "kind": None, "status": "missing", "taken_at": None, "duration_s": None, "source": None,
                "holes": [], "notes": [], "error": reason,
            }
        )  # fmt: skip
    return {
        "schema": "railfab.collect/1",
        "fabric": snapshot.fabric,
        "started_at": snapshot.started_at,
        "ended_at": snapshot.ended_at,
        "snapshot": snapshot_file,
        "baseline": baseline_file,
        "devices": devices,
        "summary": {
            "devices": len(devices),
            "read": sum(device["status"] == "read" for device in devices),
            "holes": sum(device["status"] == "holes" for device in devices),
            "missing": len(snapshot.missing),
        },
    }


def lines(document: dict[str, Any]) -> Iterator[str]:
    """The same for a person: what is missing first, then one line of counts."""
    for device in document["devices"]:
        if device["status"] == "missing":
            yield f"missing  {device['name']}: {device['error']}"
    for device in document["devices"]:
        for hole in device["holes"]:
            yield f"hole     {device['name']}: {hole['part']}: {hole['reason']}"
    counts = document["summary"]
    seconds = document["ended_at"] - document["started_at"]
    read = counts["read"] + counts["holes"]
    yield (
        f"{document['fabric']}: read {read} of {counts['devices']} devices in {seconds:.1f} s"
        + (f", {counts['holes']} with holes" if counts["holes"] else "")
        + (f", {counts['missing']} missing" if counts["missing"] else "")
    )


def complete(document: dict[str, Any]) -> bool:
    """Whether everything that was asked for was read."""
    return not document["summary"]["missing"] and not document["summary"]["holes"] and bool(document["devices"])
