"""The codes of lint: what each one means, how to see it on a switch, what to do. `railfab explain` prints these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """One code: `title` in a few words, `meaning` what goes wrong, `verify` a command on SONiC, `remedy` what to do."""

    title: str
    meaning: str
    verify: str
    remedy: str


CODES: Mapping[str, Code] = {
    "CFG-01": Code(
        "not the shape of CONFIG_DB",
        "A table must hold rows, a row must hold fields, and a name may stand once.",
        "python3 -m json.tool config_db.json",
        "Correct the file; give the file that `sonic-cfggen -d --print-data` prints.",
    ),
    "CFG-02": Code(
        "a null, a boolean or an object as value",
        'CONFIG_DB holds texts. SONiC stores the text "None" or "True", which most daemons do not understand.',
        "sonic-db-cli CONFIG_DB hgetall 'TABLE|key'",
        "Drop the field, or write the value as a string.",
    ),
    "CFG-03": Code(
        "a number as value",
        "CONFIG_DB holds texts; a number is turned into one, a number with a fraction into one nobody expects.",
        "sonic-db-cli CONFIG_DB hgetall 'TABLE|key'",
        "Write the value as a string.",
    ),
    "CFG-04": Code(
        "an empty table or list",
        "Redis has no empty table; the config updater refuses a target that has one, and the patch with it.",
        "sudo config apply-patch -d patch.json",
        "Leave the table or field out.",
    ),
    "CFG-05": Code(
        "an old way to write a reference or key",
        "Releases before 202111 wrote [TABLE|name], and lists of ports in a key; newer ones refuse both.",
        "sonic-db-cli CONFIG_DB hget 'PORT_QOS_MAP|Ethernet0' dscp_to_tc_map",
        "Write the bare name, and one row a port.",
    ),
    "CFG-06": Code(
        "a table that no model describes",
        "SONiC loads it with a note; the config updater refuses to patch it, and config reload (202405 on) to load it.",
        "ls /usr/local/yang-models",
        "Drop the table, or judge with the models of the release that has it.",
    ),
    "CFG-07": Code(
        "SONiC's own model refuses it",
        "The YANG model of the release refuses a key, a field or a value: reload and the config updater will too.",
        "sudo config replace -d config_db.json",
        "Correct the field as the finding says.",
    ),
    "CFG-08": Code(
        "a fragment that points outside itself",
        "The file has no PORT table (a QoS or buffer file), so what it says about ports cannot be judged.",
        "sonic-db-cli CONFIG_DB keys 'PORT|*'",
        "Judge it together with the switch's PORT table.",
    ),
    "CFG-09": Code(
        "a file that cannot be judged",
        "It cannot be read or is not JSON.",
        "python3 -m json.tool config_db.json",
        "Give a readable config_db.json.",
    ),
    "CFG-10": Code(
        "lanes used twice, missing or no numbers",
        "Each lane of the ASIC belongs to one port; of two ports that share one, one never works.",
        "show interfaces status",
        "Take lanes from the SKU's port table; after a breakout the parent keeps only its share.",
    ),
    "CFG-11": Code(
        "an alias used twice",
        "LLDP sends the alias as port id; two ports of one alias cannot be told apart by a cabling check.",
        "show interfaces alias",
        "Take aliases from the SKU's port table.",
    ),
    "CFG-12": Code(
        "the children of a cage are not numbered",
        "The transceiver daemon finds a child's lanes by subport; without it the module is set up for the wrong lanes.",
        "sonic-db-cli CONFIG_DB hget 'PORT|Ethernet4' subport",
        "Number the children of a cage from 1.",
    ),
    "CFG-13": Code(
        "FEC does not fit the lanes",
        "50G and more a lane needs RS-FEC. Without it the link stays down, or comes up at one end only.",
        "show interfaces fec status",
        'Write fec "rs" at both ends.',
    ),
    "CFG-14": Code(
        "autoneg without a limit on a split cage",
        "Both ends may agree on a speed that the split cable cannot carry.",
        "show interfaces autoneg status",
        "Switch autoneg off, or limit adv_speeds to the port's speed.",
    ),
    "CFG-15": Code(
        "a used port without admin_status",
        "SONiC leaves a port down that does not say up.",
        "show interfaces status",
        'Write admin_status "up".',
    ),
    "CFG-16": Code(
        "BREAKOUT_CFG and PORT disagree",
        "The mode string makes another number of ports than PORT has, or is no mode at all.",
        "show interfaces breakout current-mode",
        "Take the mode string from platform.json and make both tables agree.",
    ),
    "CFG-17": Code(
        "a row for a port that is not there",
        "The row takes no effect, cannot be removed by the CLI and blocks later replaces and rollbacks.",
        "sonic-db-cli CONFIG_DB keys 'PORT|*'",
        "Correct the port's name, or drop the row.",
    ),
    "CFG-18": Code(
        "routed ports with different MTUs",
        "Headroom is computed for one MTU; the port with the smaller one drops what its neighbours send.",
        "show interfaces status",
        "Give every fabric port one MTU.",
    ),
    "CFG-20": Code(
        "an address without its parent row",
        "`INTERFACE|Ethernet0|10.0.0.0/31` needs `INTERFACE|Ethernet0`, and MGMT_INTERFACE needs MGMT_PORT.",
        "show ip interfaces",
        "Add the parent row.",
    ),
    "CFG-21": Code(
        "an address that is no host, a prefix with host bits",
        "An interface cannot have the subnet's own or its broadcast address; a routed prefix has no host bits.",
        "show ip interfaces",
        "Write a host address, or the prefix without host bits.",
    ),
    "CFG-22": Code(
        "one subnet on two interfaces",
        "The kernel sends to one of them only; the session on the other never comes up.",
        "show ip interfaces",
        "Give each cable a subnet of its own.",
    ),
    "CFG-23": Code(
        "the management gateway is out of reach",
        "The switch has no way to its gateway, so nobody outside the subnet reaches the switch.",
        "show management_interface address",
        "Write a gateway inside the management subnet.",
    ),
    "CFG-30": Code(
        "a name that no row has",
        "A QoS map, scheduler, profile, pool or ACL table is named and not there; the row that names it does nothing.",
        "sudo config replace -d config_db.json",
        "Add the row, or correct the name (the bare name, without its table).",
    ),
    "CFG-31": Code(
        "a route map without a body",
        "FRR denies every route through a route map that has no entry.",
        "vtysh -c 'show route-map'",
        "Add ROUTE_MAP|NAME|10.",
    ),
    "CFG-40": Code(
        "no usable AS number",
        "SONiC takes plain decimals from 1 to 4294967295; a text like None is rendered into the BGP configuration.",
        "sonic-db-cli CONFIG_DB hget 'DEVICE_METADATA|localhost' bgp_asn",
        "Write the AS number as a plain decimal.",
    ),
    "CFG-41": Code(
        "BGP peers that are never programmed",
        "SONiC's BGP manager waits silently for bgp_asn, type and Loopback0; until then no peer is configured.",
        "docker exec bgp vtysh -c 'show running-config bgpd'",
        "Write what is missing.",
    ),
    "CFG-42": Code(
        "a peer without a local address of ours",
        "The BGP manager programs a peer only when its local_addr stands on an interface; no error is shown.",
        "show ip bgp summary",
        "Write this switch's address on that cable.",
    ),
    "CFG-43": Code(
        "two masters of FRR",
        "With an own frr.conf SONiC's BGP manager still runs, and programs the peers of CONFIG_DB as well.",
        "docker exec bgp vtysh -c 'show running-config bgpd'",
        "Drop BGP_NEIGHBOR and BGP_PEER_RANGE, or use another docker_routing_config_mode.",
    ),
    "CFG-44": Code(
        "sessions that carry no routes or no ECMP",
        "In the management framework an external session needs both route maps, and max_ebgp_paths defaults to 1.",
        "show bgp summary",
        "Name route maps for both directions and write max_ebgp_paths.",
    ),
    "CFG-45": Code(
        "two tiers that hash alike",
        "The hash seed follows DEVICE_METADATA type: tiers of one type repeat each other's choice and links idle.",
        "sonic-db-cli APPL_DB hget SWITCH_TABLE:switch ecmp_hash_seed",
        "Give the tiers different types.",
    ),
    "CFG-50": Code(
        "a DSCP map with holes",
        "A DSCP without an entry falls to the ASIC's default class.",
        "show qos map dscp-to-tc",
        "Write all 64 entries.",
    ),
    "CFG-51": Code(
        "RoCE in a lossy class, or notifications in a lossless one",
        "Data that hosts mark for RoCE is dropped under load, or notifications wait behind the data they slow down.",
        "show priority-group drop counters",
        "Map RoCE's DSCP to the lossless class and the notifications' to a strict queue without PFC.",
    ),
    "CFG-52": Code(
        "queue, priority group and PFC priority disagree",
        "A pause frame stops another queue than the one the traffic waits in.",
        "show queue counters",
        "Make TC_TO_QUEUE_MAP, TC_TO_PRIORITY_GROUP_MAP and MAP_PFC_PRIORITY_TO_QUEUE agree.",
    ),
    "CFG-53": Code(
        "more than one lossless class, or asymmetric PFC",
        "Each lossless class takes its own headroom on every port; asymmetric PFC pauses without listening.",
        "show pfc priority",
        "Keep one lossless class, pfc_asym off.",
    ),
    "CFG-54": Code(
        "the switch-level map differs from the ports'",
        "PORT_QOS_MAP|global is the switch's default map and no port; two maps give two answers.",
        "sonic-db-cli CONFIG_DB hgetall 'PORT_QOS_MAP|global'",
        "Use one map.",
    ),
    "CFG-55": Code(
        "a lossless queue that marks nothing",
        "Without an ECN profile senders are never slowed down and the queue fills until it pauses.",
        "show ecn",
        'Name a WRED profile with ecn "ecn_all".',
    ),
    "CFG-56": Code(
        "WRED thresholds that cannot work",
        "Thresholds out of order or above 2^31, missing, or a lossless queue that drops instead of marking.",
        "show ecn",
        "Write thresholds in bytes, minimum below maximum below 2^31, and mark every colour.",
    ),
    "CFG-57": Code(
        "congestion notifications wait",
        "The queue of notifications is not strict, or may drop them early: senders learn too late.",
        "show queue counters",
        "Give that queue a STRICT scheduler and no WRED profile.",
    ),
    "CFG-60": Code(
        "watchdog and PFC name different priorities",
        "The watchdog acts on pfcwd_sw_enable only; where that is absent it watches nothing.",
        "sonic-db-cli CONFIG_DB hgetall 'PORT_QOS_MAP|Ethernet0'",
        "Write pfcwd_sw_enable equal to pfc_enable.",
    ),
    "CFG-61": Code(
        "lossless ports without a watchdog",
        "One sick NIC that pauses without end stops its rail, then the fabric.",
        "show pfcwd config",
        "Write a PFC_WD row for each lossless port.",
    ),
    "CFG-62": Code(
        "a watchdog row that does not work",
        "No action, no detection time, or times out of order.",
        "show pfcwd config",
        "Write action, detection_time and a restoration_time that is not shorter.",
    ),
    "CFG-70": Code(
        "a lossless port without headroom",
        "Without a cable length (or with 0m) SONiC makes no lossless priority group; PFC has nothing behind it.",
        "sonic-db-cli CONFIG_DB keys 'BUFFER_PG|Ethernet0|*'",
        "Write the cable's length.",
    ),
    "CFG-71": Code(
        "a cable length the platform has no row for",
        "The lookup is by exact text; a missing pair of speed and length means no lossless group and a line in syslog.",
        "sonic-db-cli CONFIG_DB keys 'BUFFER_PG|Ethernet0|*'",
        "Write the next longer length of the platform's pg_profile_lookup.ini.",
    ),
    "CFG-72": Code(
        "headroom of another length or speed",
        "The priority group was made before the length or speed changed, and keeps the old headroom.",
        "sonic-db-cli CONFIG_DB hgetall 'BUFFER_PG|Ethernet0|3-4'",
        "Shut and open the port, or reload, and read the group again.",
    ),
    "CFG-73": Code(
        "computed headroom on a traditional box",
        "Profile NULL asks the dynamic buffer model; the traditional one has no answer and the group is empty.",
        "sonic-db-cli CONFIG_DB hget 'DEVICE_METADATA|localhost' buffer_model",
        "Use the dynamic model where the platform has it, or drop the rows.",
    ),
    "CFG-74": Code(
        "a pool or profile that says two things or none",
        "Shared headroom on an egress pool, or a profile with no threshold or with two.",
        "show buffer configuration",
        "Keep one threshold; shared headroom belongs to the ingress lossless pool.",
    ),
    "CFG-75": Code(
        "a queue or priority group named twice",
        "Two rows with overlapping ranges; which one wins depends on the order they arrive in.",
        "sonic-db-cli CONFIG_DB keys 'QUEUE|Ethernet0|*'",
        "Give each queue or group one row.",
    ),
    "CFG-76": Code(
        "pause comes before marking",
        "The priority group pauses before the queue has marked, so senders are stopped and never slowed.",
        "show ecn",
        "Keep minimum < maximum < pause point.",
    ),
    "CFG-77": Code(
        "more headroom promised than there is",
        "If all lossless ports pause at once the shared headroom pool runs out and packets are dropped.",
        "show buffer configuration",
        "Fewer lossless classes, shorter cable rows, or a larger shared pool.",
    ),
    "CFG-80": Code(
        "the two ends of a cable disagree",
        "Speed, FEC, MTU, subnet or the neighbour's name differ between the files of both ends.",
        "show interfaces status; show lldp table",
        "Make both ends equal.",
    ),
    "CFG-81": Code(
        "a session expects another AS number",
        "The far end has another AS than this end expects, so the session never comes up.",
        "show ip bgp summary",
        "Write the far end's AS number.",
    ),
    "CFG-82": Code(
        "an address or subnet used twice in the fabric",
        "Two switches hold one address, or a cable's subnet stands on more than two ports.",
        "show ip interfaces",
        "Give each switch and each cable its own.",
    ),
    "CFG-83": Code(
        "two switches of one host name",
        "LLDP cannot tell them apart.",
        "hostname",
        "Give each switch its own name.",
    ),
    "CFG-90": Code(
        "a row of the Plan is missing",
        "The file lacks a row that the intent asks for.",
        "sonic-db-cli CONFIG_DB hgetall 'TABLE|key'",
        "Render again and merge.",
    ),
    "CFG-91": Code(
        "a field differs from the Plan",
        "The file says something else than the intent.",
        "sonic-db-cli CONFIG_DB hgetall 'TABLE|key'",
        "Render again and merge, or put the change into the intent.",
    ),
    "CFG-92": Code(
        "a row the Plan does not have",
        "A table that is ours holds a row the intent does not ask for.",
        "sonic-db-cli CONFIG_DB hgetall 'TABLE|key'",
        "Drop the row, or put it into the intent.",
    ),
    "CFG-93": Code(
        "frr.conf differs from the Plan",
        "The file beside config_db.json has other lines than the rendered text.",
        "docker exec bgp cat /etc/frr/frr.conf",
        "Render again, or put the change into the intent.",
    ),
    "CFG-94": Code(
        "a switch the Plan does not have",
        "The file was compared with an intent that has no switch of this name.",
        "hostname",
        "Correct the host name or the folder's name, or add the switch to the intent.",
    ),
}
