"""Desired against running: what differs in meaning, in the parts we own, and what making it so costs. Pure.

`compute` gives a DeviceChange; `digest` says whether a running state moved; `residue` what a read-back still lacks.
"""

from fabric.change.compute import compute, digest, is_ours, residue
from fabric.change.held import Hold, Mark, mark_of

__all__ = ["Hold", "Mark", "compute", "digest", "is_ours", "mark_of", "residue"]
