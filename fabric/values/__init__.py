"""What the rooms exchange: frozen, slotted dataclasses of plain values, standard library only.

`plan` (what must be), `device_config` (desired and running configuration), `snapshot` (what was seen),
`finding`, `change`, `verdict`. Each top-level value has a `schema` and goes to and from JSON by `codec`.
"""
