"""Plan -> Desired: CONFIG_DB tables and FRR text of every switch, files of every host.

`render_switch` and `render_hosts` are pure; `write` streams a folder, device by device.
"""

from fabric.render.switch import render_switch

__all__ = ["render_switch"]
