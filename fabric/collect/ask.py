"""What one SSH exec asks a switch: a POSIX shell script that uses only what ships on SONiC, and changes nothing.

Redis is read by `sonic-db-cli DB EVAL` in slices: each slice stops after `SLICE_MS` or `SLICE_ITEMS` and says where to
go on, so that no script holds a switch's Redis for long. No KEYS anywhere. FRR is read through `vtysh` where we are
root or may be, else by `sudo rvtysh`, which SONiC allows every account. Each part has a time limit of its own.

The answer is read by `fabric.collect.answer`: marker lines carry a token of the caller's, so that no neighbour's name
can forge one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from shlex import quote

from fabric.collect.parts import DEFAULT_PARTS, Part

COMMAND = "sh -s"
SLICE_MS = 8
SLICE_ITEMS = 6000
_SCAN_COUNT = 200
_DB_LIMIT_S = 5
_COMMAND_LIMIT_S = 20
_LOCK_WAIT_S = 5
_LOCK_FOLDER = "/run/lock"

# Fields read by name: names without the SAI prefix (facts: sonic.md 5.5). Absent ones cost two bytes.
_P = "SAI_PORT_STAT_"
PORT_COUNTERS: tuple[str, ...] = (
    *(f"{_P}IF_{way}_{what}" for way in ("IN", "OUT") for what in ("OCTETS", "UCAST_PKTS", "DISCARDS", "ERRORS")),
    *(f"{_P}{name}" for name in ("IN_DROPPED_PKTS", "OUT_DROPPED_PKTS", "IF_IN_NON_UCAST_PKTS", "PAUSE_RX_PKTS")),
    *(
        f"{_P}IF_IN_FEC_{n}"
        for n in ("CORRECTABLE_FRAMES", "NOT_CORRECTABLE_FRAMES", "SYMBOL_ERRORS", "CORRECTED_BITS")
    ),
    *(f"{_P}IF_IN_FEC_CODEWORD_ERRORS_S{bin_}" for bin_ in range(16)),
    *(f"{_P}PFC_{priority}_{way}_PKTS" for priority in range(8) for way in ("RX", "TX")),
    *(f"{_P}PFC_{priority}_ON2OFF_RX_PKTS" for priority in range(8)),
    *(f"{_P}PFC_{priority}_RX_PAUSE_DURATION_US" for priority in range(8)),
    *(f"EST_PORT_STAT_PFC_{priority}_ON2OFF_RX_PKTS" for priority in range(8)),
    *(f"EST_PORT_STAT_PFC_{priority}_RX_PAUSE_DURATION_US" for priority in range(8)),
    *(f"{_P}{colour}WRED_DROPPED_PACKETS" for colour in ("GREEN_", "YELLOW_", "RED_", "")),
    *(f"{_P}{name}" for name in ("TRIM_PACKETS", "TX_TRIM_PACKETS", "DROPPED_TRIM_PACKETS")),
)
PORT_RATES: tuple[str, ...] = (
    "RX_BPS", "TX_BPS", "RX_PPS", "TX_PPS", "RX_UTIL", "TX_UTIL", "FEC_PRE_BER", "FEC_POST_BER", "FEC_PRE_BER_MAX",
    "FEC_MAX_T", "FEC_FLR", "FEC_FLR_PREDICTED", "FEC_FLR_R_SQUARED",
)  # fmt: skip
QUEUE_COUNTERS: tuple[str, ...] = (
    *(
        f"SAI_QUEUE_STAT_{name}"
        for name in (
            "PACKETS", "BYTES", "DROPPED_PACKETS", "DROPPED_BYTES", "WRED_ECN_MARKED_PACKETS", "WRED_ECN_MARKED_BYTES",
            "WRED_DROPPED_PACKETS", "WRED_DROPPED_BYTES", "TRIM_PACKETS", "TX_TRIM_PACKETS", "DROPPED_TRIM_PACKETS",
        )
    ),
    *(
        f"PFC_WD_{name}"
        for name in (
            "STATUS", "ACTION", "DETECTION_TIME", "RESTORATION_TIME", "QUEUE_STATS_DEADLOCK_DETECTED",
            "QUEUE_STATS_DEADLOCK_RESTORED", "QUEUE_STATS_TX_PACKETS", "QUEUE_STATS_TX_DROPPED_PACKETS",
            "QUEUE_STATS_RX_PACKETS", "QUEUE_STATS_RX_DROPPED_PACKETS",
        )
    ),
)  # fmt: skip
_G = "SAI_INGRESS_PRIORITY_GROUP_STAT_"
PG_COUNTERS: tuple[str, ...] = (f"{_G}PACKETS", f"{_G}BYTES", f"{_G}DROPPED_PACKETS")
QUEUE_WATERMARKS: tuple[str, ...] = ("SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES",)
PG_WATERMARKS: tuple[str, ...] = (f"{_G}XOFF_ROOM_WATERMARK_BYTES", f"{_G}SHARED_WATERMARK_BYTES")
POOL_WATERMARKS: tuple[str, ...] = (
    "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES",
    "SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES",
)
# Not the counts and times of flags: on a 64x800G switch they are most of STATE_DB.
OPTIC_TABLES = (
    "INFO", "STATUS", "STATUS_SW", "DOM_SENSOR", "DOM_TEMPERATURE", "DOM_THRESHOLD", "DOM_FLAG", "STATUS_FLAG", "PM",
    "VDM_REAL_VALUE",
    *(f"VDM_{level}_{kind}" for level in ("HALARM", "LALARM", "HWARN", "LWARN") for kind in ("FLAG", "THRESHOLD")),
)  # fmt: skip
WATERMARK_TABLES = ("USER_WATERMARKS", "PERSISTENT_WATERMARKS")
_ASIC = "ASIC_STATE:SAI_OBJECT_TYPE_"

# One slice of a list of jobs over one database. ARGV: state, items, ms, jobs. A job is words: `S table...` (all hashes
# of tables, named with their separator), `H key` (one hash), `C` (a whole CONFIG_DB, secrets left out),
# `M map table type_map|- field...` (named objects of a map; values joined by bars). Answers the next state (0: all
# done), a line end, and one JSON object.
LUA = r"""
local state,limit,ms=ARGV[1],tonumber(ARGV[2]),tonumber(ARGV[3])
local job,cur,size=string.match(state,"^(%d+):(%d+):(%d+)$")
job=tonumber(job)
local begun=redis.call("TIME")
local function late()
 local now=redis.call("TIME")
 return (now[1]-begun[1])*1000+(now[2]-begun[2])/1000>=ms
end
local hashes,maps,items={},{},0
local function reply(next)
 return next.."\n"..cjson.encode({h=hashes,m=maps})
end
local function secret(name)
 local n=string.lower(name)
 return string.find(n,"passkey",1,true) or string.find(n,"secret",1,true) or string.find(n,"password$")
  or string.find(n,"_cak$") or string.find(n,"_psk$")
end
local hidden={SNMP_COMMUNITY=1,SNMP_USER=1,NTP_KEY=1}
while true do
 local spec=ARGV[3+job]
 if not spec then return reply("0") end
 local w,want={},{}
 for word in string.gmatch(spec,"%S+") do w[#w+1]=word want[word]=1 end
 if w[1]=="M" then
  local names=redis.call("HGETALL",w[2])
  local n=#names/2
  local i=tonumber(cur)
  if i>0 and tonumber(size)~=n then i=0 end
  local fields={unpack(w,5)}
  local rows={}
  maps[#maps+1]={map=w[2],table=w[3],fields=fields,rows=rows}
  local since=0
  while i<n do
   local name,oid=names[2*i+1],names[2*i+2]
   i=i+1
   local kind=w[4]~="-" and redis.call("HGET",w[4],oid)
   if not (kind and string.find(kind,"MULTICAST",1,true)) then
    local row=redis.call("HMGET",w[3]..":"..oid,unpack(fields))
    for j=1,#fields do
     if row[j] then items=items+1 else row[j]="" end
    end
    rows[name]=table.concat(row,"|")
    items=items+1
   end
   since=since+1
   if items>=limit or (since%8==0 and late()) then break end
  end
  if i<n then return reply(job..":"..i..":"..n) end
 elseif w[1]=="H" then
  local f=redis.call("HGETALL",w[2])
  local h={}
  for j=1,#f,2 do h[f[j]]=f[j+1] end
  hashes[w[2]]=h
  items=items+#f
 else
  repeat
   local r=redis.call("SCAN",cur,"COUNT",SCAN_COUNT)
   cur=r[1]
   for _,key in ipairs(r[2]) do
    local head=string.match(key,"^[^|:]+[|:]") or key
    if w[1]=="C" and not hidden[string.sub(head,1,-2)] or want[head]
     or want[string.match(key,"^[^:]+:[^:]+:") or ""] then
     local f=redis.pcall("HGETALL",key)
     if not f.err then
      local h={}
      for j=1,#f,2 do
       h[f[j]]=(w[1]=="C" and secret(f[j])) and "<hidden>" or f[j+1]
      end
      hashes[key]=h
      items=items+#f
     end
    end
   end
   if cur~="0" and (items>=limit or late()) then return reply(job..":"..cur..":0") end
  until cur=="0"
 end
 job=job+1
 cur,size="0","0"
 if ARGV[3+job] and (items>=limit or late()) then return reply(job..":0:0") end
end
"""

_SHELL = r"""
main() {
tok=$1
nl='
'
LC_ALL=C
PATH=$PATH:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin
export LC_ALL PATH
begin() { printf '\n@@%s begin %s\n' "$tok" "$*"; printf '\n@@%s begin %s\n' "$tok" "$*" >&2; }
end() { printf '\n@@%s end %s %s\n' "$tok" "$1" "$2"; }
run() { name=$1; limit=$2; shift 2; begin "$name"; timeout -k 2 "$limit" "$@"; end "$name" $?; }
file() { if [ -r "$1" ]; then printf 'file %s\n' "$1"; cat "$1"; printf '\n'; fi; }
hide() { sed -e 's/\(neighbor [^ ]* password\) .*/\1 <hidden>/' -e 's/^\( *\(enable \)*password\) .*/\1 <hidden>/'; }
db() {
 name=$1; shift
 for ns in $spaces; do
  if [ "$ns" = - ]; then what=db.$name; cli=sonic-db-cli; else what=db.$name@$ns; cli="$sudo sonic-db-cli -n $ns"; fi
  begin "$what"
  state=1:0:0; rc=0; slices=0
  while :; do
   out=$(timeout -k 1 @DB_S@ $cli "$name" EVAL "$lua" 0 "$state" @ITEMS@ @MS@ "$@")
   rc=$?
   [ $rc = 0 ] || { printf '%s\n' "$out"; break; }
   state=${out%%"$nl"*}
   case $state in
    0|[1-9]*:[0-9]*:[0-9]*) ;;
    *) printf '%s\n' "$out"; rc=90; break;;
   esac
   printf '%s\n' "${out#*"$nl"}"
   [ "$state" = 0 ] && break
   slices=$((slices+1))
   [ $slices -lt 2000 ] || { rc=91; break; }
  done
  end "$what" $rc
 done
}
frr_all() {
 names=$1; shift
 [ -n "$vtysh" ] || return 1
 begin "frr $names"
 out=$(timeout -k 2 @FRR_S@ $vtysh "$@"); rc=$?
 printf '%s\n' "$out" | hide
 end frr $rc
 return $rc
}
frr_one() {
 begin "frr.$1"
 out=$(timeout -k 2 @FRR_S@ ${vtysh:-$sudo rvtysh} -c "$2"); rc=$?
 printf '%s\n' "$out" | hide
 end "frr.$1" $rc
}
uid=$(id -u)
if [ "$uid" = 0 ]; then sudo=; vtysh=vtysh; else
 sudo='sudo -n'; vtysh=
 if sudo -n -l vtysh -c 'show ip route json' >/dev/null 2>&1; then vtysh='sudo -n vtysh'; fi
fi
lock=@LOCK@
[ -w $lock ] || lock=/tmp
lock=$lock/railfab-collect.lock
[ -e $lock ] || touch $lock 2>/dev/null
begin lock
if [ -r $lock ] && command -v flock >/dev/null; then
 exec 9<$lock
 if ! flock -w @LOCK_S@ 9; then end lock 75; printf '\n@@%s done\n' "$tok"; exit 75; fi
fi 2>/dev/null
end lock 0
platform=
if [ -r /host/machine.conf ]; then
 while IFS='=' read -r key value; do [ "$key" = onie_platform ] && platform=$value; done </host/machine.conf
fi
asics=
case $platform in */*|'') ;; *)
 if [ -r "/usr/share/sonic/device/$platform/asic.conf" ]; then
  while IFS='=' read -r key value; do
   [ "$key" = NUM_ASIC ] && asics=$value
  done <"/usr/share/sonic/device/$platform/asic.conf"
 fi;;
esac
case $asics in ''|*[!0-9]*) asics=1;; esac
spaces=-
n=0
[ "$asics" -gt 1 ] && while [ $n -lt "$asics" ] && [ $n -lt 64 ]; do spaces="$spaces asic$n"; n=$((n+1)); done
begin system
printf 'asics %s\n' "$asics"
printf 'clock %s\n' "$(date +%s)"
printf 'uid %s\n' "$uid"
if read -r key value </proc/uptime; then printf 'uptime %s\n' "$key"; fi
if read -r key </proc/sys/kernel/hostname; then printf 'hostname %s\n' "$key"; fi
if [ -r /sys/class/net/eth0/address ] && read -r key </sys/class/net/eth0/address; then printf 'eth0 %s\n' "$key"; fi
if [ -d /run/systemd/system ]; then
 key=$(timeout -k 1 3 systemctl show -p ActiveEnterTimestampMonotonic --value swss 2>/dev/null)
 printf 'swss %s\n' "$key"
fi
file /etc/sonic/sonic_version.yml
file /host/machine.conf
file /host/reboot-cause/previous-reboot-cause.json
file /host/reboot-cause/reboot-cause.txt
end system 0
@PARTS@
printf '\n@@%s done\n' "$tok"
printf '\n@@%s done\n' "$tok" >&2
}
"""

# FRR commands by part, in the order they are asked: vtysh stops at the first that fails, so what fails first is last.
FRR_COMMANDS: tuple[tuple[Part, str, str], ...] = (
    (Part.FRR, "config", "show running-config"),
    (Part.RIB, "rib4", "show ip route json"),
    (Part.RIB, "rib6", "show ipv6 route json"),
    (Part.BGP, "bgp", "show bgp summary json"),
    (Part.BFD, "bfd", "show bfd peers json"),
)


def database_jobs(parts: Iterable[Part]) -> Mapping[str, tuple[str, ...]]:
    """Database -> jobs for the Lua slices."""
    wanted = frozenset(parts)
    prefixes: dict[str, list[str]] = {}
    jobs: dict[str, list[str]] = {}

    def scan(database: str, part: Part, *names: str) -> None:
        if part in wanted:
            known = prefixes.setdefault(database, [])
            known.extend(name for name in names if name not in known)

    def read(part: Part, name_map: str, table: str, fields: Iterable[str], types: str = "-") -> None:
        if part in wanted:
            jobs.setdefault("COUNTERS_DB", []).append(f"M {name_map} {table} {types} {' '.join(fields)}")

    scan("APPL_DB", Part.PORTS, "PORT_TABLE:", "SWITCH_TABLE:")
    scan("APPL_DB", Part.LLDP, "LLDP_ENTRY_TABLE:", "LLDP_LOC_CHASSIS")
    scan("APPL_DB", Part.APPL, "ROUTE_TABLE:", "NEXTHOP_GROUP_TABLE:", "CLASS_BASED_NEXT_HOP_GROUP_TABLE:")
    scan("STATE_DB", Part.PORTS, "PORT_TABLE|", "PORT_OPERR_TABLE|")
    scan("STATE_DB", Part.OPTICS, *(f"TRANSCEIVER_{table}|" for table in OPTIC_TABLES))
    scan("STATE_DB", Part.FDB, "FDB_TABLE|")
    prefixes.setdefault("STATE_DB", []).append("EEPROM_INFO|")
    scan(
        "ASIC_DB", Part.ASIC,
        *(f"{_ASIC}{kind}:" for kind in
          ("ROUTE_ENTRY", "NEXT_HOP", "NEXT_HOP_GROUP", "NEXT_HOP_GROUP_MEMBER", "ROUTER_INTERFACE", "SWITCH")),
    )  # fmt: skip
    scan("COUNTERS_DB", Part.ASIC, "COUNTERS_PORT_NAME_MAP", "COUNTERS_LAG_NAME_MAP")
    scan("COUNTERS_DB", Part.CRM, "CRM:STATS")
    ports, queues, groups = "COUNTERS_PORT_NAME_MAP", "COUNTERS_QUEUE_NAME_MAP", "COUNTERS_PG_NAME_MAP"
    queue_types = "COUNTERS_QUEUE_TYPE_MAP"
    read(Part.COUNTERS, ports, "COUNTERS", PORT_COUNTERS)
    read(Part.COUNTERS, ports, "RATES", PORT_RATES)
    read(Part.QUEUES, queues, "COUNTERS", QUEUE_COUNTERS, queue_types)
    read(Part.QUEUES, groups, "COUNTERS", PG_COUNTERS)
    for table in WATERMARK_TABLES:
        read(Part.WATERMARKS, queues, table, QUEUE_WATERMARKS, queue_types)
        read(Part.WATERMARKS, groups, table, PG_WATERMARKS)
        read(Part.WATERMARKS, "COUNTERS_BUFFER_POOL_NAME_MAP", table, POOL_WATERMARKS)
    found: dict[str, tuple[str, ...]] = {database: (f"S {' '.join(names)}",) for database, names in prefixes.items()}
    # What is no map is read by its key: a scan of COUNTERS_DB would touch every counter.
    if "COUNTERS_DB" in found:
        found["COUNTERS_DB"] = tuple(f"H {name}" for name in prefixes["COUNTERS_DB"])
    if jobs:
        found["COUNTERS_DB"] = (*found.get("COUNTERS_DB", ()), *jobs["COUNTERS_DB"])
    if Part.CONFIG in wanted:
        found["CONFIG_DB"] = ("C",)
    return found


def script(parts: Iterable[Part] = DEFAULT_PARTS, *, token: str = "railfab") -> str:
    """The script to give `sh -s` on standard input. `token`: letters and digits, new for each run.

    Pure. The script takes a lock on the switch (one collector at a time) and reads; it writes nothing else.
    """
    if not token.isalnum() or not token.isascii():
        raise ValueError("token must be letters and digits")
    wanted = frozenset(parts)
    lines: list[str] = []
    for database, jobs in database_jobs(wanted).items():
        lines.append(f"db {database} {_shell_words(jobs)}")
    frr = [(name, command) for part, name, command in FRR_COMMANDS if part in wanted]
    if frr:
        together = " ".join(f"-c {quote(command)}" for _, command in frr)
        singly = "; ".join(f"frr_one {name} {quote(command)}" for name, command in frr)
        lines.append(f"frr_all {quote(' '.join(name for name, _ in frr))} {together} || {{ {singly}; }}")
    if Part.LLDP in wanted:
        lines.append("run lldpctl 10 $sudo lldpctl -f json0")
    if Part.KERNEL in wanted:
        lines.append("run kernel4 10 ip -j -4 route show table main")
        lines.append("run kernel6 10 ip -j -6 route show table main")
    if Part.NEIGHBOURS in wanted:
        lines.append("run neighbours 10 ip -j neigh show")
    body = (
        _SHELL.replace("@DB_S@", str(_DB_LIMIT_S))
        .replace("@ITEMS@", str(SLICE_ITEMS))
        .replace("@MS@", str(SLICE_MS))
        .replace("@FRR_S@", str(_COMMAND_LIMIT_S))
        .replace("@LOCK@", quote(_LOCK_FOLDER))
        .replace("@LOCK_S@", str(_LOCK_WAIT_S))
        .replace("@PARTS@", "\n".join(lines))
    )
    return f"lua={quote(lua())}\n{body.strip()}\nmain {token} </dev/null\n"


def lua() -> str:
    """The Lua of one slice, as it is given to EVAL."""
    return LUA.strip().replace("SCAN_COUNT", str(_SCAN_COUNT))


def _shell_words(words: Iterable[str]) -> str:
    return " ".join(quote(word) for word in words)
