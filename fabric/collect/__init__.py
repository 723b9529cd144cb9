"""What live switches and hosts say: one SSH exec each, typed, with what is missing and why.

`script` says what to ask, `parse_switch` reads what came back (both pure); `snapshot` asks a whole fabric over a
transport it is given. Nothing here knows the Plan: devices are names and addresses.
"""

from fabric.collect.ask import COMMAND, script
from fabric.collect.parts import DEFAULT_PARTS, Part, parse_parts
from fabric.collect.switch import parse_switch

__all__ = ["COMMAND", "DEFAULT_PARTS", "Part", "parse_parts", "parse_switch", "script"]
