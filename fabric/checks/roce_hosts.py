"""The NIC's half of RoCE, where hosts were asked: trust, PFC, DCQCN, GIDs, ARP settings (HOST-01 to HOST-04)."""

from __future__ import annotations

from collections.abc import Iterator

from fabric.checks.judged import Judged
from fabric.checks.view import Life, Link, View
from fabric.diagnose.claim import Cause, Claim
from fabric.values.finding import Confidence, Finding, Severity, Status
from fabric.values.snapshot import NicState


def judge(view: View, judged: Judged) -> None:
    """Judge the NICs of hosts in the snapshot; hosts that were not asked are noted."""
    asked = False
    for link in view.links:
        if not link.host or link.life in (Life.PLANNED, Life.KNOWN_DOWN):
            continue
        nic = view.nic(link.b)
        if nic is None:
            continue
        asked = True
        for code, wrong, expected, remedy in _wrong(view, nic):
            judged.claims.append(_claim(link, code, wrong, expected, remedy))
        judged.passed += bool(nic.settings)
    if not asked and any(link.host for link in view.links):
        view.skip("NIC settings of hosts", "no host in the snapshot: `railfab collect --ask-hosts`")


def _wrong(view: View, nic: NicState) -> Iterator[tuple[str, str, str, str]]:
    qos, said = view.plan.qos, nic.settings
    if qos.lossless:
        wanted = ",".join("1" if priority == qos.lossless_tc else "0" for priority in range(8))
        trust, pfc = said.get("trust"), said.get("pfc")
        fix = f"mlnx_qos -i {nic.netdev} --trust dscp --pfc {wanted} (and a unit file: it is lost at reboot)"
        if trust is not None and trust != "dscp":
            yield "HOST-02", f"trusts {trust}", "trust dscp", fix
        if pfc is not None and pfc != wanted:
            yield "HOST-02", f"PFC {pfc}", f"PFC {wanted}", fix
        seen = said.get(f"dscp_{qos.roce_dscp}")
        if seen is not None and seen != str(qos.lossless_tc):
            yield "HOST-02", f"DSCP {qos.roce_dscp} to priority {seen}", f"priority {qos.lossless_tc}", fix
        for name in sorted(said):
            ours = name.startswith(("ecn_roce_np_", "ecn_roce_rp_")) and name.endswith(f"_{qos.lossless_tc}")
            if ours and said[name] == "0":
                yield "HOST-02", f"DCQCN off ({name} 0)", "DCQCN on", f"echo 1 into {name.replace('_', '/')}"
    if nic.gids and not any("v2" in gid.lower() and "fe80" not in gid.lower() for gid in nic.gids):
        yield (
            "HOST-01",
            "no routable RoCEv2 GID",
            "a RoCEv2 GID of the NIC's IPv4 address",
            f"give {nic.netdev} its address; then `ibv_devinfo -v` or `show_gids` lists the GID",
        )
    if said.get("rp_filter") == "1":
        yield "HOST-03", "rp_filter 1", "rp_filter 0 or 2", f"sysctl -w net.ipv4.conf.{nic.netdev}.rp_filter=2"
    yield from _pcie(said.get("pcie_width"), said.get("pcie_max_width"), "lanes", nic)
    yield from _pcie(said.get("pcie_speed"), said.get("pcie_max_speed"), "speed", nic)


def _pcie(seen: str | None, most: str | None, what: str, nic: NicState) -> Iterator[tuple[str, str, str, str]]:
    """The link below what the card can: whether card or slot is the limit, only the hop above tells (F059)."""
    if seen and most and seen != most:
        yield (
            "HOST-04",
            f"PCIe {what} {seen}, the card can {most}",
            f"PCIe {what} {most}, unless the slot ends there",
            f"`lspci -vv -s {nic.pci or nic.netdev}` (LnkSta, LnkCap of the bridge above): reseat, or accept the slot",
        )


def _claim(link: Link, code: str, wrong: str, expected: str, remedy: str) -> Claim:
    host, nic = link.b
    soft = code == "HOST-04"
    finding = Finding(
        code=code,
        status=Status.WARN if soft else Status.FAIL,
        severity=Severity.WARN if soft or link.life is not Life.SERVICE else Severity.BLOCK,
        confidence=Confidence.CERTAIN,
        node=host,
        nic=nic,
        rail=link.rail,
        nodes=(host,),
        rails=(link.rail,) if link.rail is not None else (),
        cable=link.name,
        expected=expected,
        observed=f"{host} {nic}: {wrong}",
        evidence=f"{host} says so itself",
        remedy=f"on {host}: {remedy}",
    )
    return Claim(Cause.QOS_CONFIG, finding, cables=frozenset({link.name}), devices=frozenset({host, link.a[0]}))
