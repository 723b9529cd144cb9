"""Switch models: cages, lanes, breakouts, aliases, buffers, headroom."""

from fabric.platforms.catalogue import available, load
from fabric.platforms.model import Cage, Platform, PortSpec, Source

__all__ = ["Cage", "Platform", "PortSpec", "Source", "available", "load"]
