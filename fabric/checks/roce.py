"""RoCE: what the switches run against the Plan's QoS, and what counters say about loss and pause.

Configuration first (QOS codes), then live storms and what grew since the baseline (CONG codes), then balance of
links (ECMP codes, `balance`). What has no data is noted or unknown, never passed.
"""

from __future__ import annotations

from fabric.checks import balance, misqueued, roce_config, roce_counters, roce_hosts, storm
from fabric.checks.judged import Judged
from fabric.checks.view import View


def judge(view: View) -> Judged:
    """Judge every switch in scope, both ends of its cables, and the NICs of hosts that were asked."""
    judged = Judged()
    roce_config.judge(view, judged)
    roce_hosts.judge(view, judged)
    storm.judge(view, judged)
    roce_counters.judge(view, judged)
    misqueued.judge(view, judged)
    balance.judge(view, judged)
    return judged
