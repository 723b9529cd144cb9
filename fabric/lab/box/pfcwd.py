"""`pfcwd` of the twin's switches: start, stop, interval, show. It writes PFC_WD; nothing watches queues here."""

from __future__ import annotations

import argparse
import os
import sys

from .database import CONFIG_DB, SOCKET, replace
from .redis import Redis


def main() -> None:
    """Run it and exit with its code."""
    parser = argparse.ArgumentParser(prog="pfcwd")
    verbs = parser.add_subparsers(dest="verb", required=True)
    start = verbs.add_parser("start")
    start.add_argument("-a", "--action", choices=["drop", "forward", "alert"])
    start.add_argument("-r", "--restoration-time", type=int)
    start.add_argument("ports", nargs="+")
    start.add_argument("detection_time", type=int)
    stop = verbs.add_parser("stop")
    stop.add_argument("ports", nargs="+")
    interval = verbs.add_parser("interval")
    interval.add_argument("poll_interval", type=int)
    show = verbs.add_parser("show")
    show.add_argument("what", choices=["config", "stats"])
    options = parser.parse_args()
    redis = Redis(SOCKET, CONFIG_DB)
    if options.verb == "show":
        sys.exit(_show(redis, options.what))
    if os.geteuid() != 0:
        sys.exit("Root privileges are required for this operation")
    if options.verb == "interval":
        redis.run("HSET", "PFC_WD|GLOBAL", "POLL_INTERVAL", options.poll_interval)
        return
    known = [key.partition("|")[2] for key in redis.scan("PORT|*")]
    ports = known if options.ports == ["all"] else options.ports
    if unknown := [port for port in ports if port not in known]:
        sys.exit(f"{unknown[0]} is not a valid port")
    for port in ports:
        if options.verb == "stop":
            replace(redis, f"PFC_WD|{port}", None)
            continue
        row = {
            "detection_time": str(options.detection_time),
            "restoration_time": str(options.restoration_time or 2 * options.detection_time),
            "action": options.action or "drop",
        }
        replace(redis, f"PFC_WD|{port}", row)


def _show(redis: Redis, what: str) -> int:
    keys = sorted(redis.scan("PFC_WD|*"))
    rows = {key.partition("|")[2]: dict(zip(*[iter(redis.run("HGETALL", key))] * 2)) for key in keys}
    if what == "config":
        if "GLOBAL" in rows:
            print(f"Changed polling interval to {rows['GLOBAL'].get('POLL_INTERVAL', '')}ms")
        print("PORT  ACTION  DETECTION TIME  RESTORATION TIME")
        for port, row in rows.items():
            if port != "GLOBAL":
                print(
                    port,
                    row.get("action", "drop"),
                    row.get("detection_time", ""),
                    row.get("restoration_time", "infinite"),
                )
        return 0
    print("QUEUE  STATUS  STORM DETECTED/RESTORED  TX OK/DROP  RX OK/DROP  TX LAST OK/DROP  RX LAST OK/DROP")
    return 0
