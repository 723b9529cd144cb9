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
    """Refuse what must never leave the building. Rows of one kind share their dict, so each is looked at once."""
    for table, rows in tables.items():
        for key, row in dict(zip(map(id, rows.values()), rows.items(), strict=True)).values():
            for field, value in row.items():
                if value.__class__ is not str or value in _NEVER or value[0] == "[":
                    _judge_value(f"{name}: {table}|{key}: {field}", value)


def _judge_value(where: str, value: object) -> None:
    texts = value if isinstance(value, list) else [value]
    if not texts or any(not isinstance(text, str) or text in _NEVER or text.startswith("[") for text in texts):
        raise RenderError(f"{where} would be {value!r}; that is no CONFIG_DB value")
