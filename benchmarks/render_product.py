"""Every platform x routing mode x address family x release: rendered and judged by SONiC's YANG models.

    python benchmarks/render_product.py --yang DIR [--platforms KEY,KEY] [--releases 202505,...]

Too long for every commit; docs/render.md has the last result. One leaf, one spine and one storage switch of each small
fabric are judged: all others differ in numbers only. The models are one release's (what DIR holds): for the other
releases this says that their files pass those models, not that their own models were asked.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from fabric.allocate import load_plan
from fabric.errors import RailfabError
from fabric.lint.yang import YangModels
from fabric.platforms import available, load
from fabric.render import render_switch
from fabric.values.device_config import Tables

MODES = {
    "frr": "{mode: frr}",
    "frr, unnumbered": "{mode: frr}",
    "bgpcfgd": "{mode: bgpcfgd}",
    "frr-mgmt": "{mode: frr-mgmt, bfd: true}",
    "frr-mgmt, unnumbered": "{mode: frr-mgmt, bfd: true}",
}
RELEASES = ("202311", "202405", "202411", "202505", "202511", "202605")
# Host and fabric, in the order they are tried.
SPEEDS = (("400G", "800G"), ("400G", "400G"), ("800G", "800G"), ("200G", "800G"), ("200G", "200G"), ("100G", "100G"))
_INTENT = """name: product
release: "{release}"
{borrow}
classes: {{h: {{nics: 2, speed: {host}, storage: {{nics: 2, speed: {host}}}}}}}
compute:
  rails: 2
  places: 4
  leaf: {{platform: {platform}, host_length_m: {near}}}
  spine: {{platform: {platform}, count: 2, links: 1, speed: {fabric}, length_m: {far}}}
  pods:
    - {{nodes: 3, reserve: 1}}
storage:
  platform: {platform}
  length_m: {near}
  loopbacks: 10.255.255.0/28
  node_pools: [10.120.0.0/24, 10.120.1.0/24]
  server_pools: [10.121.0.0/28, 10.121.1.0/28]
addressing: {{family: {family}, fabric_links: {links}}}
management: {{network: 172.31.0.0/16, gateway: 172.31.255.254}}
services: {{ntp: [192.0.2.1], syslog: [192.0.2.2], dns: [192.0.2.3]}}
routing: {routing}
"""


def rendered(key: str, mode: str, family: str, release: str) -> dict[str, Tables]:
    """One switch a role of the first small fabric of this platform that can be built, by speeds and cable lengths."""
    platform = load(key)
    figures = platform.buffers()
    lengths = sorted({row.cable_m for row in figures.rows}) if figures else [5, 40]
    borrow = "" if figures else "buffers_from: dell-z9864f-o64"
    last: RailfabError | None = None
    for host, fabric in SPEEDS:
        for near, far in ((lengths[0], lengths[min(1, len(lengths) - 1)]), (lengths[0], lengths[0])):
            text = _INTENT.format(
                release=release, borrow=borrow, host=host, fabric=fabric, platform=key, near=near, far=far,
                family=family,
                links="unnumbered" if "unnumbered" in mode else "numbered", routing=MODES[mode],
            )  # fmt: skip
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "product.yaml"
                file.write_text(text)
                try:
                    plan = load_plan(file)
                    names = {switch.role: name for name, switch in plan.switches.items()}.values()
                    return {name: render_switch(plan, name).tables for name in names}
                except RailfabError as error:
                    last = last or error
    assert last is not None
    raise last


def main() -> None:
    """Print a table and, below it, what was refused and why."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--yang", type=Path, required=True)
    parser.add_argument("--platforms", default=",".join(available()))
    parser.add_argument("--releases", default=",".join(RELEASES))
    arguments = parser.parse_args()
    models = YangModels(arguments.yang)
    refused: Counter[str] = Counter()
    total = broken = 0
    print("| platform | files judged | not valid | refused |\n|---|---|---|---|")
    for key in arguments.platforms.split(","):
        judged = bad = no = 0
        for mode in MODES:
            for family in ("ipv4", "dual"):
                for release in arguments.releases.split(","):
                    try:
                        for name, tables in rendered(key, mode, family, release).items():
                            judged += 1
                            wrong = [str(one) for one in models.judge(tables)] + list(models.unknown_tables(tables))
                            bad += bool(wrong)
                            if wrong and bad < 4:
                                print(f"<!-- {key} {mode} {family} {release} {name}: {wrong[0][:300]} -->")
                    except RailfabError as error:
                        no += 1
                        why = str(error).splitlines()[0].rpartition("product.yaml:")[2]
                        refused[f"{mode}: {key}: {why}"] += 1
        total, broken = total + judged, broken + bad
        print(f"| {key} | {judged} | {bad} | {no} |", flush=True)
    print(f"\n{total} files judged, {broken} not valid.")
    for why, times in refused.most_common():
        print(f"- {times} x {why}")


if __name__ == "__main__":
    main()
