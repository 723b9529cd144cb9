"""Limits that checks judge by. Every one can be changed; the default's source stands beside it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Numbers a check compares with. Times in seconds, BER as a ratio, power in dB(m).

    lldp_ttl_s: SONiC's lldpd sends every 30 s and holds 4 times (facts sonic 6.1).
    ber_warn, ber_fail: pre-FEC bit error ratio tiers, 2.4 times below the KP4 wall of 2.4e-4 (facts ai-fabric 4.1).
    frame_loss_ratio: 6.2e-11 at 200G and above, IEEE 802.3 objective (facts ai-fabric 4.1); ten times that at 100G.
    fec_gap_growth: symbol errors are fewer than corrected frames only because counters are read one by one (F054).
    host_flaps, fabric_flaps_day: what blocks a node, or drains a fabric link (facts ai-fabric 4.2, rule PHY-04).
    boot_grace_s: a port bounces once while its module starts (F050).
    rx_spread_db, rx_drop_db: lane-to-lane spread and fall since the baseline (facts ai-fabric 4.1).
    overload_warn, overload_fail: load of the remaining parallel links, 1.0 = full (rule BGP-05).
    node_down_nics: this many dark NICs, and all of them, are one dead host.
    pause_share: share of time a lossless queue was paused that is worth a word (rule CONG-02).
    storm_rate: PFC frames a second received on one port that make it the source of a storm (F081: 9000/s).
    idle_pause: PFC frames of an idle fabric in one window that are worth a word (F137).
    watchdog_events: storms detected between two snapshots that are a finding; one in 24 h is polling jitter (F075).
    buffer_share: use of a pool or headroom that is worth a word (rule CONG-03).
    table_share: use of an ASIC table that is worth a word, before it refuses routes.
    balance_level: probability at most that random hashing alone raises one imbalance alarm about one group.
    qps_per_nic: flows a NIC has at the least (NCCL_IB_QPS_PER_CONNECTION is 1 by default); more flows, sharper alarms.
    busy_share: a link below this share of its rate is not busy enough to judge balance.
    members_share: effective members of a group, of all (rule ECMP-02).
    rail_imbalance: max over mean across the rails of a node (rule ECMP-04).
    roce_packets: RoCE packets of one window that are enough to say which class they landed in (F092).
    """

    lldp_ttl_s: float = 120.0
    ber_warn: float = 1e-5
    ber_fail: float = 1e-4
    frame_loss_ratio: float = 6.2e-11
    host_flaps: int = 1
    fabric_flaps_day: int = 3
    boot_grace_s: float = 30.0
    rx_spread_db: float = 3.0
    rx_drop_db: float = 2.0
    overload_warn: float = 1.0
    overload_fail: float = 1.1
    node_down_nics: int = 2
    pause_share: float = 0.01
    storm_rate: float = 1000.0
    idle_pause: int = 100
    watchdog_events: int = 2
    buffer_share: float = 0.8
    table_share: float = 0.8
    balance_level: float = 1e-6
    members_share: float = 0.75
    rail_imbalance: float = 1.5
    roce_packets: int = 1000
    qps_per_nic: int = 1
    busy_share: float = 0.05
