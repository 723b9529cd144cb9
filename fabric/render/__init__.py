"""Plan -> Desired: CONFIG_DB tables and FRR text of every switch, files of every host.

`render_switch` and `render_hosts` are pure; `write` streams a folder, device by device. `OWNED` says which parts of a
switch's CONFIG_DB the rendered rows are about (the data itself stands in `fabric.values.ownership`).
"""

from fabric.render.hosts import render_hosts
from fabric.render.switch import render_switch
from fabric.render.writer import write
from fabric.values.ownership import OWNED

__all__ = ["OWNED", "render_hosts", "render_switch", "write"]
