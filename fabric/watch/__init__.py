"""The long-running watcher: look, judge, remember, tell; again and again, for months.

It is given everything it does: how to look (a Snapshot), how to judge (a Report), where to tell. So it knows neither
SSH nor a check, and its tests need no clock.
"""

from fabric.watch.events import Event, Ledger
from fabric.watch.watcher import Round, Watcher

__all__ = ["Event", "Ledger", "Round", "Watcher"]
