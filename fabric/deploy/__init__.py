"""Rolling changes out: read, plan, apply in waves, prove, keep or undo, and a record of all of it.

Health checks are an argument: this room judges no fabric. `fabric.deploy.planning` makes plans, `fabric.deploy.report`
writes them for people.
"""

from fabric.deploy.again import resume, rollback
from fabric.deploy.roll import Health, Options, agree, apply, good, untouched

__all__ = ["Health", "Options", "agree", "apply", "good", "resume", "rollback", "untouched"]
