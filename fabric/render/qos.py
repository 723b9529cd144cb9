"""RoCE: maps, schedulers, WRED, queues, buffers, cable lengths, watchdog: rows of ports that may carry a cable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fabric.errors import RenderError
from fabric.render.device import Rows
from fabric.render.releases import since
from fabric.render.scope import Scope
from fabric.values.device_config import Row
from fabric.values.plan import BufferPlan, HeadroomRow, PlannedPort


def maps(scope: Scope) -> Iterator[tuple[str, Rows]]:
    """The maps. DSCP has all 64 entries: one left out falls to the ASIC's default."""
    qos, policy = scope.plan.qos, scope.policy("qos")
    classes = range(policy["traffic_classes"])
    for tc, what in ((qos.lossless_tc, "RoCE data"), (qos.cnp_tc, "congestion notifications")):
        if tc not in classes:
            raise RenderError(f"class {tc} for {what} is not one of the {len(classes)} of templates/config_db/qos.yaml")
    if policy["default_class"] not in classes or policy["default_class"] == qos.lossless_tc:
        raise RenderError(
            f"templates/config_db/qos.yaml: default_class: {policy['default_class']}: must be 0 to {classes[-1]}, "
            f"not {qos.lossless_tc}, which is for RoCE data alone"
        )
    dscp = {str(point): str(policy["default_class"]) for point in range(64)}
    for point, tc in policy["dscp"].items():
        if str(point) not in dscp or tc not in classes or tc == qos.lossless_tc:
            raise RenderError(
                f"templates/config_db/qos.yaml: dscp: {point}: {tc}: a DSCP is 0 to 63, a class 0 to {classes[-1]}, "
                f"and class {qos.lossless_tc} is for RoCE data alone"
            )
        dscp[str(point)] = str(tc)
    dscp[str(qos.roce_dscp)] = str(qos.lossless_tc)
    dscp[str(qos.cnp_dscp)] = str(qos.cnp_tc)
    same = {str(tc): str(tc) for tc in classes}
    none = dict.fromkeys(same, "0")
    name = policy["map"]
    yield "DSCP_TO_TC_MAP", {name: dscp}
    yield "TC_TO_QUEUE_MAP", {name: same}
    groups: Rows = {policy["lossy_group_map"]: none}
    if scope.pfc:
        groups[name] = {**none, str(qos.lossless_tc): str(qos.lossless_tc)}
    yield "TC_TO_PRIORITY_GROUP_MAP", dict(sorted(groups.items()))
    if scope.pfc:
        yield "MAP_PFC_PRIORITY_TO_QUEUE", {name: same}
        if _pfc_to_group(scope):
            yield "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", {name: same}


def port_maps(scope: Scope) -> Rows:
    """PORT_QOS_MAP. PFC and the watchdog on exactly one priority of exactly the lossless ports."""
    policy, priority = scope.policy("qos"), str(scope.plan.qos.lossless_tc)
    name = policy["map"]
    lossy: Row = {"dscp_to_tc_map": name, "tc_to_pg_map": policy["lossy_group_map"], "tc_to_queue_map": name}
    lossless: dict[str, str | list[str]] = {
        "dscp_to_tc_map": name,
        "pfc_enable": priority,
        "pfc_to_queue_map": name,
        "pfcwd_sw_enable": priority,
        "tc_to_pg_map": name,
        "tc_to_queue_map": name,
    }
    if _pfc_to_group(scope):
        lossless["pfc_to_pg_map"] = name
    rows: Rows = {port.name: lossless if port.name in scope.lossless else lossy for port in scope.fabric}
    if rows:
        rows["global"] = {"dscp_to_tc_map": name}
    return rows


def schedulers(scope: Scope) -> Rows:
    """SCHEDULER: strict for CNPs, weighted shares for the rest."""
    return {
        name: {key: str(value) for key, value in row.items()}
        for name, row in sorted(scope.policy("qos")["schedulers"].items())
    }


def wred(scope: Scope) -> Rows:
    """WRED_PROFILE of the RoCE queue: marks ECN, never drops what is ECN-capable. Bytes; below 2^31 (orchagent)."""
    ecn, policy = scope.plan.qos.ecn, scope.policy("qos")
    if policy["wred"]["ecn"] == "ecn_none":
        raise RenderError("templates/config_db/qos.yaml: wred.ecn: ecn_none drops RoCE data where it should mark it")
    colours, marked = set(policy["wred"]["colours"]), policy["wred"]["ecn"].removeprefix("ecn_").split("_")
    known = {"green", "yellow", "red"}
    if "green" not in colours or colours - (known if marked == ["all"] else set(marked) & known):
        raise RenderError(
            f"templates/config_db/qos.yaml: wred: colours {', '.join(sorted(colours))} with {policy['wred']['ecn']}: "
            "each of green, yellow, red that has thresholds must be marked, or it is dropped; and traffic is green"
        )
    if not 0 < ecn.min_bytes <= ecn.max_bytes < 2**31 or not 0 <= ecn.probability <= 100:
        raise RenderError(
            f"ECN profile {ecn.name}: {ecn.min_bytes} to {ecn.max_bytes} bytes at {ecn.probability} % is not possible; "
            "0 < min <= max < 2147483648 and 0 <= probability <= 100"
        )
    pool = scope.buffers.pools.get(scope.policy("buffers")["lossless_pool"]) if scope.buffers and scope.pfc else None
    if pool is not None and ecn.max_bytes >= (pause := pause_point(pool.size, scope.plan.qos.dynamic_th, 1)):
        raise RenderError(
            f"{scope.switch.name}: ECN profile {ecn.name} marks fully at {ecn.max_bytes} bytes, but a lone sender is "
            f"paused at {pause}: PFC would act before ECN; lower ecn_max_bytes or raise dynamic_th"
        )
    row: dict[str, str | list[str]] = {"ecn": policy["wred"]["ecn"]}
    for colour in policy["wred"]["colours"]:
        row[f"{colour}_drop_probability"] = str(ecn.probability)
        row[f"{colour}_max_threshold"] = str(ecn.max_bytes)
        row[f"{colour}_min_threshold"] = str(ecn.min_bytes)
        row[f"wred_{colour}_enable"] = "true"
    return {policy["wred_profile"]: dict(sorted(row.items()))}


def queues(scope: Scope) -> Rows:
    """QUEUE: scheduler of every queue, WRED on the RoCE queue."""
    qos, policy = scope.plan.qos, scope.policy("qos")
    wanted = policy["queues"]
    kinds: list[tuple[str, Row]] = []
    for queue in range(queue_count(scope)):
        kind = "lossless" if queue == qos.lossless_tc else "cnp" if queue == qos.cnp_tc else "other"
        if wanted[kind] not in policy["schedulers"]:
            raise RenderError(f"templates/config_db/qos.yaml: queues.{kind}: no scheduler called {wanted[kind]}")
        row: dict[str, str | list[str]] = {"scheduler": wanted[kind]}
        if kind == "lossless":
            row["wred_profile"] = policy["wred_profile"]
        kinds.append((f"|{queue}", row))
    return {port.name + suffix: row for port in scope.fabric for suffix, row in kinds}


def queue_count(scope: Scope) -> int:
    """Queues that get rows: those of the policy, and in any case the ones that RoCE data and CNPs are in."""
    qos = scope.plan.qos
    return max(int(scope.policy("qos")["queues"]["count"]), qos.lossless_tc + 1, qos.cnp_tc + 1)


def buffers(scope: Scope) -> Iterator[tuple[str, Rows]]:
    """BUFFER_* and CABLE_LENGTH. Nothing where the platform has no figures: then the image's own stand."""
    plan = scope.buffers
    if plan is None:
        return
    yield "BUFFER_POOL", {name: _pool(pool) for name, pool in sorted(plan.pools.items())}
    profiles: Rows = {name: _profile(profile) for name, profile in sorted(plan.profiles.items())}
    own = own_groups(scope)
    profiles.update(sorted(dict(own.values()).items()))
    yield "BUFFER_PROFILE", profiles
    yield "BUFFER_PG", _groups(scope, plan, own)
    yield "BUFFER_QUEUE", _queue_buffers(scope, plan)
    for table, names in (
        ("BUFFER_PORT_EGRESS_PROFILE_LIST", plan.egress_profile_list),
        ("BUFFER_PORT_INGRESS_PROFILE_LIST", plan.ingress_profile_list),
    ):
        if names:
            yield table, {port.name: {"profile_list": ",".join(names)} for port in scope.fabric}
    if scope.plan.qos.lossless:
        yield "CABLE_LENGTH", {"AZURE": _cable_lengths(scope, plan)} if scope.fabric else {}
    if plan.model == "dynamic" and scope.pfc:
        dynamic = scope.policy("buffers")["dynamic"]
        yield "DEFAULT_LOSSLESS_BUFFER_PARAMETER", {"AZURE": {"default_dynamic_th": str(scope.plan.qos.dynamic_th)}}
        yield (
            "LOSSLESS_TRAFFIC_PATTERN",
            {
                "AZURE": {
                    "mtu": str(dynamic["lossless_mtu"]),
                    "small_packet_percentage": str(dynamic["small_packet_percentage"]),
                }
            },
        )


def own_groups(scope: Scope) -> dict[str, tuple[str, Row]]:
    """Port -> (profile name, BUFFER_PROFILE row) of the lossless groups that we write ourselves.

    Empty where SONiC makes them: in the dynamic model, and in the traditional one when the image has the lookup rows.
    The names are not those of SONiC's buffer manager (`pg_lossless_*`), so that nobody takes ours for its.
    """
    plan = scope.buffers
    if plan is None or plan.model == "dynamic" or not plan.borrowed_from:
        return {}
    pool = scope.policy("buffers")["lossless_pool"]
    if pool not in plan.pools:
        raise RenderError(f"{scope.switch.name}: buffer figures of {plan.platform} have no pool {pool}")
    threshold = "dynamic_th" if plan.pools[pool].mode == "dynamic" else "static_th"
    result: dict[str, tuple[str, Row]] = {}
    made: dict[tuple[int, int | None], tuple[str, Row]] = {}
    for port in scope.fabric:
        if port.name not in scope.lossless:
            continue
        pair = (port.speed_mbps, port.cable_row_m)
        if pair not in made:
            found = headroom_row(scope, plan, port)
            row: dict[str, str | list[str]] = {
                threshold: str(scope.plan.qos.dynamic_th),
                "pool": pool,
                "size": str(found.size),
                "xoff": str(found.xoff),
                "xon": str(found.xon),
            }
            if found.xon_offset is not None:
                row["xon_offset"] = str(found.xon_offset)
            made[pair] = (f"ingress_lossless_{found.speed_mbps}_{found.cable_m}m_profile", row)
        result[port.name] = made[pair]
    return result


def headroom_row(scope: Scope, plan: BufferPlan, port: PlannedPort) -> HeadroomRow:
    """The lookup row of a lossless port. SONiC looks up by exact speed and length: without it, no lossless group."""
    lengths = sorted(row.cable_m for row in plan.rows if row.speed_mbps == port.speed_mbps)
    for row in plan.rows:
        if row.speed_mbps == port.speed_mbps and row.cable_m == port.cable_row_m:
            return row
    raise RenderError(
        f"{scope.switch.name}: {port.name}: no headroom figure for {port.speed_mbps} Mb/s over {port.cable_m} m; "
        f"{plan.platform} has {', '.join(f'{length} m' for length in lengths) or 'none for this speed'} "
        "(a lossless port without one silently has no PFC)"
    )


def watchdog(scope: Scope) -> Rows:
    """PFC_WD: on exactly the lossless ports, action always written, times not below the poll interval."""
    if not scope.pfc:
        return {}
    qos = scope.plan.qos
    row: dict[str, str | list[str]] = {
        "action": qos.watchdog_action,
        "detection_time": str(qos.watchdog_detection_ms),
        "restoration_time": str(qos.watchdog_restoration_ms),
    }
    asic = scope.buffers.asic if scope.buffers else ""
    for name, extra in sorted(scope.policy("watchdog")["port"].items()):
        if "since" in extra and not since(scope.release.name, str(extra["since"])):
            continue
        if "asics" in extra and asic not in extra["asics"]:
            continue
        row[name] = str(extra["value"])
    rows: Rows = {port.name: row for port in scope.fabric if port.name in scope.lossless}
    rows["GLOBAL"] = {"POLL_INTERVAL": str(qos.watchdog_poll_ms)}
    return rows


def pause_point(pool: int, dynamic_th: int, congested: int) -> int:
    """Bytes that each of `congested` priority groups may hold before it is paused, of a pool of so many bytes.

    a B / (1 + n a) with a = 2^dynamic_th: the dynamic threshold of SONiC's lossless pools.
    """
    alpha = 2.0**dynamic_th
    return int(alpha * pool / (1 + congested * alpha))


def tables(scope: Scope) -> Iterator[tuple[str, Rows]]:
    """Every table of this module with its rows."""
    yield from maps(scope)
    yield "PORT_QOS_MAP", port_maps(scope)
    yield "SCHEDULER", schedulers(scope)
    yield "WRED_PROFILE", wred(scope)
    yield "QUEUE", queues(scope)
    yield from buffers(scope)
    yield "PFC_WD", watchdog(scope)


def _pfc_to_group(scope: Scope) -> bool:
    return bool(scope.buffers and scope.buffers.asic in scope.policy("qos")["pfc_to_group_asics"])


def _pool(pool: Any) -> Row:
    row = {"mode": pool.mode, "size": str(pool.size), "type": pool.kind}
    return row if pool.xoff is None else {**row, "xoff": str(pool.xoff)}


def _profile(profile: Any) -> Row:
    row: dict[str, str | list[str]] = {}
    if profile.dynamic_th is not None:
        row["dynamic_th"] = str(profile.dynamic_th)
    row |= {"pool": profile.pool, "size": str(profile.size)}
    if profile.static_th is not None:
        row["static_th"] = str(profile.static_th)
    return row


def _first(names: list[str], plan: BufferPlan) -> str:
    for name in names:
        if name in plan.profiles:
            return name
    raise RenderError(
        f"templates/config_db/buffers.yaml: {plan.platform} has none of the profiles {', '.join(names)}; it has "
        f"{', '.join(sorted(plan.profiles))}"
    )


def _groups(scope: Scope, plan: BufferPlan, own: Mapping[str, tuple[str, Row]]) -> Rows:
    lossy: Row = {"profile": _first(scope.policy("buffers")["group_lossy"], plan)}
    group = scope.plan.qos.lossless_tc
    rows: Rows = {}
    for port in scope.fabric:
        rows[f"{port.name}|0"] = lossy
        if port.name in own:
            rows[f"{port.name}|{group}"] = {"profile": own[port.name][0]}
        elif plan.model == "dynamic" and port.name in scope.lossless:
            # NULL: SONiC computes the headroom itself.
            rows[f"{port.name}|{group}"] = {"profile": "NULL"}
    return rows


def _queue_buffers(scope: Scope, plan: BufferPlan) -> Rows:
    policy, count = scope.policy("buffers"), queue_count(scope)
    queue = scope.plan.qos.lossless_tc
    lossy: Row = {"profile": _first(policy["queue_lossy"], plan)}
    lossless: Row = {"profile": _first(policy["queue_lossless"], plan)} if scope.pfc else lossy
    below, above = _span(0, queue - 1), _span(queue + 1, count - 1)
    rows: Rows = {}
    for port in scope.fabric:
        keep = port.name in scope.lossless or port.name in scope.reserved
        spans: list[tuple[str, Row]] = [(below, lossy), (str(queue), lossless), (above, lossy)]
        if not keep:
            spans = [(_span(0, count - 1), lossy)]
        for span, row in spans:
            if span:
                rows[f"{port.name}|{span}"] = row
    return rows


def _span(low: int, high: int) -> str:
    return "" if high < low else str(low) if low == high else f"{low}-{high}"


def _cable_lengths(scope: Scope, plan: BufferPlan) -> Row:
    """`0m` keeps SONiC's buffer manager out: of ports without PFC, and of ports whose lossless group is ours."""
    row: dict[str, str | list[str]] = {}
    ours = plan.model != "dynamic" and bool(plan.borrowed_from)
    for port in scope.fabric:
        length = 0
        if port.name in scope.lossless and not ours:
            length = port.cable_m if plan.model == "dynamic" else headroom_row(scope, plan, port).cable_m
            if length <= 0:
                raise RenderError(f"{scope.switch.name}: {port.name} is lossless and has no cable length")
        row[port.name] = f"{length}m"
    return row
