"""The fabric-wide parts of a Plan: QoS, routing, services, buffers."""

from __future__ import annotations

from dataclasses import replace

from fabric.errors import PlatformError
from fabric.intent.shapes import Intent
from fabric.model.fabric import Fabric, find_platform
from fabric.values.plan import BufferPlan, EcnProfile, QosPlan, RoutingPlan, Services

# Named ECN profiles (facts ai-fabric.md 3.2): bytes and per cent. `sakura` is what SAKURAONE runs, `sonic` SONiC's
# AZURE_LOSSLESS, `vendor-low` NVIDIA Spectrum's RoCE default.
ECN_PROFILES = {
    "sakura": EcnProfile("sakura", 2_000_000, 10_000_000, 1),
    "sonic": EcnProfile("sonic", 1_048_576, 2_097_152, 5),
    "vendor-low": EcnProfile("vendor-low", 150_000, 1_500_000, 100),
}


def qos_plan(intent: Intent, lossy: bool) -> QosPlan:
    """The QoS part of the Plan; `lossy` (a command-line wish) turns the lossless class off."""
    qos = intent.qos
    ecn = ECN_PROFILES[qos.profile]
    if qos.ecn_min_bytes is not None:
        ecn = replace(ecn, min_bytes=qos.ecn_min_bytes)
    if qos.ecn_max_bytes is not None:
        ecn = replace(ecn, max_bytes=qos.ecn_max_bytes)
    if qos.ecn_probability is not None:
        ecn = replace(ecn, probability=qos.ecn_probability)
    return QosPlan(
        profile=qos.profile,
        lossless=qos.lossless and not lossy,
        roce_dscp=qos.roce_dscp,
        lossless_tc=qos.lossless_tc,
        cnp_dscp=qos.cnp_dscp,
        cnp_tc=qos.cnp_tc,
        ecn=ecn,
        dynamic_th=qos.dynamic_th,
        mtu=qos.mtu,
        host_mtu=qos.host_mtu if qos.host_mtu is not None else qos.mtu,
        watchdog_detection_ms=qos.watchdog_detection_ms,
        watchdog_restoration_ms=qos.watchdog_restoration_ms,
        watchdog_poll_ms=qos.watchdog_poll_ms,
        watchdog_action=qos.watchdog_action,
    )


def routing_plan(intent: Intent) -> RoutingPlan:
    """The routing part of the Plan."""
    routing = intent.routing
    family = intent.addressing.family
    return RoutingPlan(
        mode=routing.mode,
        keepalive_s=routing.keepalive_s,
        hold_s=routing.hold_s,
        connect_s=routing.connect_s,
        maximum_paths=routing.maximum_paths,
        unnumbered=intent.addressing.fabric_links == "unnumbered",
        bfd=routing.bfd,
        weighted_ecmp=routing.weighted_ecmp,
        prefix_limit=routing.prefix_limit,
        ipv4=family != "ipv6",
        ipv6=family != "ipv4",
    )


def services(intent: Intent) -> Services:
    """Management-plane servers."""
    return Services(
        ntp=tuple(intent.services.ntp),
        syslog=tuple(intent.services.syslog),
        dns=tuple(intent.services.dns),
        mgmt_network=intent.management.network,
        mgmt_vrf=intent.management.vrf,
    )


def buffer_plans(fabric: Fabric) -> tuple[dict[str, BufferPlan], list[str]]:
    """Buffer figures of each platform in use by its key, and the notes every output must show.

    A platform without figures of its own takes those of `buffers_from` when the intent says so; else it is absent
    here, and its ports are lossy.
    """
    intent = fabric.intent
    plans: dict[str, BufferPlan] = {}
    notes: list[str] = []
    for key in dict.fromkeys(node.platform for node in fabric.switches.values()):
        platform = fabric.platforms[key]
        if platform.key in plans:
            continue
        own = platform.buffers()
        if own is not None:
            plans[platform.key] = own
        elif intent.buffers_from is not None:
            lender = find_platform(intent.buffers_from)
            try:
                plans[platform.key] = platform.borrow(lender.key)
            except PlatformError as error:
                what, _, remedy = str(error).partition("; ")
                raise PlatformError(f"{fabric.file.problem(('buffers_from',), what, remedy)}") from None
            notes.append(
                f"{platform.key}: no buffer figures are published; those of {lender.key} "
                f"({plans[platform.key].source}) stand in because the intent says buffers_from"
            )
        elif intent.qos.lossless:
            notes.append(
                f"{platform.key}: no buffer figures are published and the intent names no buffers_from, so its ports "
                "carry no lossless class"
            )
    return plans, notes
