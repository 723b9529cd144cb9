"""The cable plan: both ends of every cable, out as CSV, XLSX, JSON, DOT and labels; a site's own list in."""

from fabric.cabling.rows import CableEnd, CableRow, bill, cable_rows
from fabric.cabling.site import Difference, compare, read_site
from fabric.cabling.write import FORMATS, render_plan, write_plan

__all__ = [
    "FORMATS",
    "CableEnd",
    "CableRow",
    "Difference",
    "bill",
    "cable_rows",
    "compare",
    "read_site",
    "render_plan",
    "write_plan",
]
