"""One switch: all CONFIG_DB tables and the FRR text."""

from __future__ import annotations

from pathlib import Path

from fabric.errors import RenderError
from fabric.render import bgp, device, policy, qos, routing
from fabric.render.scope import scope
from fabric.render.site import add_site_rows
from fabric.values.device_config import DeviceConfig, Row
from fabric.values.plan import Plan

_NEVER = frozenset(("", "None", "null", "True", "False"))


def render_switch(plan: Plan, name: str, templates: Path | None = None) -> DeviceConfig:
    """What switch `name` must hold: only rows we own, all values text, no mac, no empty table.

    `templates` lies over railfab's own templates. RenderError when the Plan cannot be expressed, InputError
    for a mistake in a template.
    """
    chosen = scope(plan, name, policy.templates(templates))
    routing.covers_management(chosen)
    rows = {table: content for module in (device, qos, bgp) for table, content in module.tables(chosen) if content}
    add_site_rows(chosen, rows)
    _clean(name, rows)
    return DeviceConfig(device=name, tables=dict(sorted(rows.items())), frr=routing.frr_text(chosen))


def _clean(name: str, tables: dict[str, dict[str, Row]]) -> None:
    """Refuse what must never leave the building; every row of one kind shares its dict, so this is cheap."""
    seen: set[int] = set()
    for table, rows in tables.items():
        for key, row in rows.items():
            if not row or id(row) in seen:
                continue
            seen.add(id(row))
            for field, value in row.items():
                for text in (value,) if value.__class__ is str else value:
                    if text.__class__ is not str or text in _NEVER or text[0] == "[":
                        raise RenderError(
                            f"{name}: {table}|{key}: {field} would be {value!r}; that is no CONFIG_DB value"
                        )
