"""Cable lengths from where racks stand. They feed headroom, so they round up."""

from __future__ import annotations

from math import ceil

from fabric.intent.shapes import Intent


class Lengths:
    """Where devices stand, and how long a cable between two of them is."""

    def __init__(self, intent: Intent) -> None:
        self._racks = intent.racks
        self._rack_of: dict[str, str] = {}
        if intent.racks is not None:
            for name, rack in intent.racks.places.items():
                for device in rack.devices:
                    self._rack_of[device] = name
        for device, override in intent.devices.items():
            if override.rack is not None:
                self._rack_of[device] = override.rack

    def rack(self, device: str) -> str | None:
        """Name of the rack a device stands in."""
        return self._rack_of.get(device)

    def between(self, one: str, other: str, default: int) -> int:
        """Metres of a cable: along the row, across rows, and slack; `default` where a place is not known."""
        racks = self._racks
        if racks is None:
            return default
        a = racks.places.get(self._rack_of.get(one, ""))
        b = racks.places.get(self._rack_of.get(other, ""))
        if a is None or b is None:
            return default
        along = abs(a.column - b.column) * racks.pitch_m
        across = abs(a.row - b.row) * racks.row_m
        return max(1, ceil(along + across + racks.slack_m))
