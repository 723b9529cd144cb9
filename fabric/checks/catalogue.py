"""Every code of design, checks, gate and audit: what it means, how to see it by hand on SONiC, what to do.

`railfab explain CODE` prints these; lint's own codes (CFG-nn) stand in `fabric.lint.codes`. A test holds every code
that the source can emit to this list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """One code: `title` in a few words, `meaning` for a job, `verify` commands to see it by hand, `remedy`."""

    title: str
    meaning: str
    verify: tuple[str, ...]
    remedy: str


CATALOGUE: Mapping[str, Entry] = {
    "TOPO-01": Entry(
        "a NIC is not on the port of its rail",
        "NIC r of a node belongs on leaf r of its pod. On another leaf its traffic leaves the rail: collectives cross "
        "the "
        "spine or fail, and the node's address does not fit the port. Cannot tell: nobody hears LLDP on that port.",
        (
            "show lldp neighbors Ethernet0",
            "sonic-db-cli APPL_DB HGETALL 'LLDP_ENTRY_TABLE:Ethernet0'",
            "lldpctl -f json0        (on the host)",
            "ip neigh show dev Ethernet0",
        ),
        "Do the moves in their order; each names the port a plug is taken from and the one it goes into. Cannot tell: "
        "start the LLDP agent of the host, or enrol its MACs; do not move cables on a guess.",
    ),
    "TOPO-02": Entry(
        "a cable between switches is not as planned",
        "Each leaf and spine have an agreed number of parallel links on agreed ports. On numbered cables a crossed pair"
        " "
        "brings no session up; on unnumbered ones it does, and only LLDP against the plan finds it.",
        (
            "show lldp table",
            "show interfaces alias",
            "vtysh -c 'show bgp summary'",
        ),
        "Do the moves in their order. When two whole switches stand in each other's place, exchanging their identities "
        "(name, management address, configuration) moves no cable. One end silent: restart lldp there, do not recable.",
    ),
    "TOPO-03": Entry(
        "uplinks carry less than the hosts can send",
        "Down to up is above 1 with everything up, or after losing one spine: the fabric blocks under full load.",
        ("railfab design INTENT",),
        "Add parallel links or spines in the intent.",
    ),
    "TOPO-04": Entry(
        "few spines, or switches cabled to their peers",
        "Below four spines the loss of one takes too much; peer links (MLAG, stacking) were the cause of many outages.",
        ("railfab design INTENT",),
        "Use four spines or more; drop peer links on the GPU fabric.",
    ),
    "TOPO-05": Entry(
        "rails or planes that must be apart are joined",
        "A rail-only or multi-plane fabric has a cable between parts that share nothing by design.",
        ("railfab cables INTENT -o cables.csv",),
        "Correct the intent; follow the cable it names.",
    ),
    "TOPO-06": Entry(
        "a cage or lane is used twice, or in a mode it does not have",
        "Two ports share lanes, or the breakout mode is none of the platform's: one port never works.",
        ("show interfaces breakout current-mode", "show interfaces status"),
        "Use a mode that platform.json lists; give each cage one use.",
    ),
    "TOPO-07": Entry(
        "storage and GPU fabric share a switch, or a node has one storage switch",
        "Storage traffic reaches the lossless fabric, or one switch takes a node's storage away.",
        ("railfab design INTENT",),
        "Cable storage to two switches of its own.",
    ),
    "TOPO-08": Entry(
        "an ECMP group wider than the ASIC can hold",
        "Members above the limit are not installed; the links they stand for idle.",
        ("crm show resources nexthop group-member", "crm show summary"),
        "Use fewer, faster uplinks, or a HwSKU with wider groups.",
    ),
    "ADDR-01": Entry(
        "an address is used twice, or the ends of a cable do not pair",
        "Each cable is a /31 with its even address on the leaf; host links lie inside the aggregate of their rail.",
        ("show ip interfaces", "railfab design INTENT"),
        "Correct the pool or the override in the intent; addresses in the ledger stay.",
    ),
    "ADDR-02": Entry(
        "an ASN or loopback is not unique",
        "A shared leaf ASN makes switches refuse each other's routes; a shared loopback makes one of them unreachable.",
        ("vtysh -c 'show bgp summary'", "show ip interfaces"),
        "Correct the pool in the intent.",
    ),
    "ADDR-03": Entry(
        "MTU differs from the plan",
        "Large RoCE packets are dropped where the smaller MTU is; small ones pass, so pings look fine.",
        ("show interfaces status Ethernet0", "sonic-db-cli APPL_DB HGET 'PORT_TABLE:Ethernet0' mtu", "ip -br link"),
        "Set the planned MTU on the end the finding names, or render and push the switch again.",
    ),
    "ADDR-04": Entry(
        "a planned neighbour does not answer for its address",
        "The switch asked for the NIC's (or the far switch's) address and got nothing: no traffic leaves this port, "
        "though the link is up.",
        ("ip neigh show dev Ethernet0", "show arp", "ping -I Ethernet0 ADDRESS", "ip -br address        (on the host)"),
        "Look at the address of the far end; after a cabling mistake this clears with it.",
    ),
    "ADDR-05": Entry(
        "a host's ARP entry, FDB entry and port do not agree",
        "Hosts share a VLAN, and the switch learned a NIC's MAC on another port, on none, or another MAC answers for "
        "its address: traffic of a rail reaches the wrong machine or all of them, while links and routes are green.",
        ("show arp", "show mac", "fdbshow -p Ethernet0", "bridge fdb show", "ip -br link        (on the host)"),
        "Cables first. Right cables: clear the entry and see whether it comes back (a MAC or address used twice, a "
        "loop). Routed host links have no such table.",
    ),
    "QOS-01": Entry(
        "DSCP does not reach the planned class",
        "RoCE data or its congestion notifications land in another queue or priority group: lossy, or behind data.",
        (
            "show qos map dscp-to-tc",
            "sonic-db-cli CONFIG_DB HGETALL 'PORT_QOS_MAP|Ethernet0'",
            "show queue counters Ethernet0",
        ),
        "Render and push the switch again. SONiC's default map puts DSCP 26 into a lossy class. Seen by counters "
        "with a right configuration: the ASIC's map is wrong; see that senders mark the DSCP, then reload.",
    ),
    "QOS-02": Entry(
        "PFC is not on for exactly the planned priority",
        "Too few: loss under load. Too many: each lossless class takes its own headroom. The watchdog acts only on "
        "pfcwd_sw_enable.",
        ("show pfc priority", "sonic-db-cli CONFIG_DB HGET 'PORT_QOS_MAP|Ethernet0' pfc_enable"),
        "Render and push the switch again; restart the watchdog when PFC priorities changed.",
    ),
    "QOS-03": Entry(
        "the lossless queue does not mark as planned",
        "Without ECN marks senders never slow down and the queue ends in pause.",
        ("show ecn", "sonic-db-cli CONFIG_DB HGETALL 'QUEUE|Ethernet0|3'", "show queue wredcounters"),
        "Render and push the switch again.",
    ),
    "QOS-04": Entry(
        "congestion notifications are not served first",
        "CNPs wait behind data: senders learn of congestion too late.",
        ("sonic-db-cli CONFIG_DB HGETALL 'QUEUE|Ethernet0|6'", "show queue counters Ethernet0"),
        "Give that queue the STRICT scheduler: render and push again.",
    ),
    "QOS-05": Entry(
        "a lossless port has no headroom, or headroom for another cable",
        "Packets under way when pause is sent need room for speed and length. SONiC makes none, silently, when no row "
        "of "
        "pg_profile_lookup.ini fits.",
        (
            "sonic-db-cli CONFIG_DB HGETALL 'BUFFER_PG|Ethernet0|3'",
            "sonic-db-cli CONFIG_DB HGET 'CABLE_LENGTH|AZURE' Ethernet0",
            "grep buffermgrd /var/log/syslog",
        ),
        "Push CABLE_LENGTH with a length the table has; shut and open the port when SONiC kept an old profile.",
    ),
    "QOS-06": Entry(
        "headroom of all ports is more than the pool",
        "When many ports pause at once some get less than they need and drop.",
        ("show buffer configuration", "show headroom-pool watermark", "railfab render INTENT --explain"),
        "Shorter cable rows, fewer lossless ports, or a box with a larger pool.",
    ),
    "QOS-07": Entry(
        "pause comes before marking",
        "The priority group pauses before the queue reaches its ECN maximum, so senders stop instead of slowing down.",
        ("show ecn", "show buffer configuration", "railfab render INTENT --explain"),
        "Lower the ECN thresholds or raise dynamic_th.",
    ),
    "QOS-08": Entry(
        "the PFC watchdog is off or other than planned",
        "One NIC that pauses without end blocks its rail, then the pod, and nothing stops it.",
        ("show pfcwd config", "show pfcwd stats"),
        "Render and push the switch again; rows without pfcwd_sw_enable on the port do nothing.",
    ),
    "QOS-09": Entry(
        "the ends of a link disagree about priorities",
        "Pause for a priority the fabric does not use stops other traffic and protects nothing.",
        ("show pfc counters", "mlnx_qos -i IF        (on the host)"),
        "Set the NIC to PFC on the planned priority only, trust dscp, global pause off.",
    ),
    "BGP-01": Entry(
        "sessions are not as planned",
        "Routes over this cable are missing. All sessions of one switch down with links up: its bgpd, not its cables.",
        ("vtysh -c 'show bgp summary'", "vtysh -c 'show bgp neighbors ADDRESS'", "docker ps", "docker logs bgp"),
        "Restart a dead bgp container; else compare ASN, addresses and policy at both ends. (Policy) means a route map "
        "is "
        "missing.",
    ),
    "BGP-02": Entry(
        "maximum-paths below the uplinks",
        "Uplinks beyond it carry nothing.",
        ("vtysh -c 'show running-config bgpd'",),
        "Raise routing.maximum_paths in the intent.",
    ),
    "BGP-03": Entry(
        "a next hop is lost between RIB and ASIC",
        "Sessions are green, but traffic uses fewer links than it should (or one that leads nowhere). The finding names"
        " "
        "the first layer that lost it: RIB, kernel, APPL_DB or ASIC_DB.",
        (
            "vtysh -c 'show bgp ipv4 unicast neighbors OURS advertised-routes'        (on the neighbour: sent?)",
            "vtysh -c 'show bgp ipv4 unicast PREFIX'        (here: taken? multipath?)",
            "vtysh -c 'show ip route PREFIX'",
            "ip route show PREFIX; ip nexthop",
            "sonic-db-cli APPL_DB HGETALL 'ROUTE_TABLE:PREFIX'",
            "dump state route PREFIX",
            "sudo route_check.py",
            "crm show resources nexthop group",
        ),
        "RIB: the finding says which end keeps the prefix back by what each counted: an inbound filter here, an "
        "outbound one there, or a path that is there and not multipath; railfab drift names the line. Kernel: clear "
        "the one session (clear bgp HOP), which writes the group anew. APPL_DB: restart fpmsyncd. ASIC_DB: an "
        "unresolved neighbour (ping it), a full group table (ECMP-05), or SAI errors in syslog. A route that changes "
        "while the switch is asked can be told at a layer once: check again.",
    ),
    "BGP-04": Entry(
        "graceful restart or FIB suppression other than planned",
        "Stale paths stay up to minutes after a crash, or routes are announced before the ASIC has them.",
        ("vtysh -c 'show running-config bgpd'",),
        "Render and push the switch again.",
    ),
    "BGP-05": Entry(
        "what is left of the uplinks overflows",
        "Plain BGP does not tell others that one of several parallel links is gone: they keep sending the same share. "
        "With weighted ECMP the share is the one their tables hold, down to the ASIC, not the one the intent asks for.",
        ("show interfaces counters rates", "show interfaces status"),
        "Repair the link first. Until then shut the leaf's other sessions to that spine (vtysh: neighbor ADDRESS "
        "shutdown; railfab hold keeps it), or use weighted ECMP. When all uplinks together are too few, only fewer "
        "busy nodes on that leaf help.",
    ),
    "ECMP-01": Entry(
        "one link of a group is fuller than luck explains",
        "Judged against random hashing for the flows that the group carries at the least; usually too few source "
        "ports.",
        ("show interfaces counters rates",),
        "NCCL_IB_QPS_PER_CONNECTION=4 and NCCL_IB_SPLIT_DATA_ON_QPS=1 for the job; show switch-hash global must have "
        "L4_SRC_PORT among the ECMP fields.",
    ),
    "ECMP-02": Entry(
        "members of a group carry next to nothing",
        "The hash repeats the choice of the tier below, or a member is dead without anybody saying so.",
        ("show interfaces counters rates", "sonic-db-cli APPL_DB HGETALL SWITCH_TABLE:switch", "railfab audit INTENT"),
        "Different hash seeds for the tiers; if BGP-03 is silent, audit the paths with probes.",
    ),
    "ECMP-03": Entry(
        "two tiers hash alike",
        "With one seed a spine's choice among parallel links is fixed by the leaf's: three of four idle.",
        ("sonic-db-cli APPL_DB HGET SWITCH_TABLE:switch ecmp_hash_seed",),
        "Give the tiers different DEVICE_METADATA types.",
    ),
    "ECMP-04": Entry(
        "rails of a node carry unequal load",
        "A collective uses all rails alike; a slow or misused rail makes the whole job wait.",
        ("show interfaces counters rates        (on each leaf)", "nvidia-smi topo -m        (on the host)"),
        "Compare NCCL_IB_HCA and the GPU to NIC map with a good node.",
    ),
    "ECMP-05": Entry(
        "a forwarding table of the ASIC is full, or nearly",
        "Next hop groups, their members, next hops, neighbours and routes have tables of fixed size. What no longer "
        "fits is refused: sessions and RIB stay green, and traffic takes fewer paths or none.",
        (
            "crm show resources all",
            "sonic-db-cli COUNTERS_DB HGETALL CRM:STATS",
            "grep -i 'SAI_STATUS_TABLE_FULL\\|SAI_STATUS_INSUFFICIENT' /var/log/syslog",
        ),
        "Fewer different groups: look for routes whose next hops differ without need (a drained spine, aggregates that "
        "are missing), then for a HwSKU with larger tables.",
    ),
    "ECMP-06": Entry(
        "next hops have other weights than they should",
        "With weighted ECMP a neighbour gets traffic by the paths it has left. Wrong or lost weights overload a "
        "neighbour that lost links, or starve one that has them all.",
        (
            "vtysh -c 'show ip route PREFIX json'",
            "vtysh -c 'show bgp ipv4 unicast PREFIX'",
            "sonic-db-cli APPL_DB HGET 'ROUTE_TABLE:PREFIX' weight",
        ),
        "RIB: the neighbour's outbound route map must set the link bandwidth (BGP_DEVICE_GLOBAL wcmp_enabled). Below "
        "it: the release or ASIC does not carry weights.",
    ),
    "PHY-01": Entry(
        "many bit errors before correction",
        "FEC still corrects them; above 2.4e-4 it no longer can. One receiver is named: the fault lies between the far "
        "transmitter and it.",
        ("show interfaces counters fec-stats", "sonic-db-cli COUNTERS_DB HGET RATES:OID FEC_PRE_BER"),
        "Clean and reseat both ends, change the far module, then the cable.",
    ),
    "PHY-02": Entry(
        "codewords that FEC could not correct",
        "Each one is a lost packet, and on RoCE a retransmission of everything after it.",
        ("show interfaces counters fec-stats", "show interfaces counters fec-histogram Ethernet0"),
        "Take the link out of use before the next job; then as PHY-01.",
    ),
    "PHY-03": Entry(
        "speed, FEC or lanes differ, or a module is outside its thresholds",
        "Different FEC or speed keeps a link down without any error; a weak receiver is a link that will flap.",
        (
            "show interfaces fec status",
            "show interfaces status",
            "show interfaces transceiver eeprom -d Ethernet0",
        ),
        "Push the planned values. Low receive power: clean, reseat, then the far module.",
    ),
    "PHY-04": Entry(
        "a link flaps",
        "Each flap drops packets for seconds; NCCL's default survives about 30 s, its peers wait all that time.",
        ("show interfaces flap", "sonic-db-cli APPL_DB HMGET 'PORT_TABLE:Ethernet0' flap_count last_down_time"),
        "Keep the node out of new jobs (or drain the fabric link), reseat and clean both ends, then replace.",
    ),
    "PHY-05": Entry(
        "a link is down",
        "In service by the plan, dark in fact. The finding says who is guilty as far as light and faults tell.",
        (
            "show interfaces status Ethernet0",
            "show interfaces errors Ethernet0",
            "show interfaces transceiver presence",
        ),
        "Shut by hand: ask who, or hold it. Else plugs, modules, cable, in this order.",
    ),
    "PHY-06": Entry(
        "no module in a cage, or the module reports a fault",
        "Nothing works over this port until the module is there and ready.",
        (
            "show interfaces transceiver presence",
            "show interfaces transceiver error-status",
            "sudo sfputil show presence",
        ),
        "Plug the module in, reseat it, or replace it.",
    ),
    "CONG-01": Entry(
        "packets were dropped in the lossless class",
        "That must never happen: headroom is wrong, WRED drops, or the watchdog threw traffic away.",
        ("show priority-group drop counters", "show queue counters Ethernet0", "show pfcwd stats"),
        "Check headroom (QOS-05), ECN (QOS-03) and storms (CONG-02) of that port.",
    ),
    "CONG-02": Entry(
        "pause: a storm, its source, or a NIC that pauses while idle",
        "Somebody is told to stop all the time. The finding walked the pause back to where it starts.",
        ("show pfc counters", "show pfcwd stats", "sudo pfcwd show stats --check-storm"),
        "A NIC: shut its port, reset or swap it. A congested switch: many senders to one receiver. A circle: break it.",
    ),
    "CONG-03": Entry(
        "headroom was used up to near its end",
        "Pause came late; a little more and lossless packets are dropped.",
        ("show priority-group watermark headroom", "show headroom-pool watermark"),
        "Check cable length, MTU and ECN thresholds of that port.",
    ),
    "HOST-01": Entry(
        "a NIC has no usable RoCEv2 GID",
        "NCCL finds no address to talk from.",
        ("show_gids        (on the host)", "ibv_devinfo -v        (on the host)"),
        "Give the NIC its planned address.",
    ),
    "HOST-02": Entry(
        "a NIC's QoS is other than the fabric's",
        "Its traffic is lossy or its pause goes to the wrong priority. These settings are lost at reboot.",
        ("mlnx_qos -i IF        (on the host)", "cat /sys/class/net/IF/ecn/roce_rp/enable/3        (on the host)"),
        "Apply the rendered host files; they hold a unit that does it at boot.",
    ),
    "HOST-03": Entry(
        "the host answers or accepts packets on the wrong rail",
        "With rp_filter 1, or without arp_ignore, rails mix or drop.",
        ("sysctl net.ipv4.conf.IF.rp_filter        (on the host)",),
        "Apply the rendered host files.",
    ),
    "HOST-04": Entry(
        "a NIC runs its PCIe link below what it can",
        "The NIC cannot take full rate; the fabric sees it as pause from that port.",
        ("lspci -vv -s BUS | grep -E 'LnkCap|LnkSta'        (on the host)",),
        "Reseat the card or riser; when the slot ends there it is right as it is.",
    ),
    "COV-01": Entry(
        "no data",
        "A switch or a part of its answer is missing, so nothing about it was judged. Missing is never healthy.",
        ("railfab collect INTENT -o FILE        (names what is missing and why)", "docker ps", "redis-cli ping"),
        "Reach the switch and collect again; run the part's command by hand to see why it has no answer.",
    ),
    "DEV-01": Entry(
        "a switch or node is down",
        "No answer, and no neighbour sees a link to it. Everything it explains stands under it.",
        ("show interfaces status        (on its neighbours)", "console, power and BMC of the box"),
        "Power and console first. Out on purpose: say so in the intent, with an end.",
    ),
    "DEV-02": Entry(
        "a device restarted inside the window",
        "Its ports bounced because of that; they do not flap.",
        ("show reboot-cause", "uptime"),
        "If nobody did it on purpose: reboot cause, console log, then the vendor.",
    ),
    "LIFE-01": Entry(
        "an outage is past its end",
        "The intent says this should be back in service.",
        ("railfab where NAME",),
        "Put it back in service, or give the outage a new end.",
    ),
    "LIFE-02": Entry(
        "a hold is past its end",
        "State made by hand is no longer kept: the next apply reverses it, and checks judge it again.",
        ("cat .railfab/NAME/holds.json",),
        "Release it, or hold it again with a new end.",
    ),
    "LIFE-03": Entry(
        "a node of the job is not in service",
        "The intent says planned, installed or out of service.",
        ("railfab where NAME",),
        "Take it out of the job, or put it in service in the intent.",
    ),
    "PATH-01": Entry(
        "packets vanish on one path",
        "Probes of some source ports reach a switch and nothing behind it, while everything there is green.",
        ("railfab audit INTENT", "show interfaces counters errors"),
        "Shut the port it names at the sending switch, then clean or replace; inside a switch: compare tables, then "
        "restart it drained.",
    ),
    "PATH-02": Entry(
        "packets go a way the plan does not have",
        "A probe came out of a port that is none of the equal-cost ones.",
        ("vtysh -c 'show ip route PREFIX'", "railfab check INTENT --only cabling,ecmp"),
        "Check cabling first, then routes of the switch it names.",
    ),
    "PATH-03": Entry(
        "a path is never taken",
        "More probes than luck allows, and none crossed it, though none was lost.",
        ("railfab check INTENT --only ecmp",),
        "Compare the next hops in RIB, APPL_DB and ASIC_DB; complete everywhere means the hash.",
    ),
    "PATH-04": Entry(
        "a path is slower than its equals",
        "Queues on one cable, or a link that retrains.",
        ("show interfaces counters rates", "show queue watermark unicast"),
        "Look at the load and errors of the cable it names.",
    ),
    "PATH-05": Entry(
        "the audit could not tell",
        "Answers were missing everywhere (control-plane policing, a host that is down) or too few probes were sent.",
        ("railfab audit INTENT --rate LOWER",),
        "Audit again: slower, or with a higher confidence.",
    ),
    "PATH-06": Entry(
        "a switch has no route to a host of the fabric",
        "It answered probes with ICMP unreachable instead of passing them on.",
        ("vtysh -c 'show ip route PREFIX'", "ip route get ADDRESS", "railfab check INTENT --only bgp,ecmp"),
        "Find out why the route is missing or rejected on the switch it names.",
    ),
}


def explain(code: str) -> Entry | None:
    """The entry of a code, in any capitals; None when there is none."""
    return CATALOGUE.get(code.strip().upper())
