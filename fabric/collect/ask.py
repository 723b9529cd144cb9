"""What one SSH exec asks a switch: a POSIX shell script that uses only what ships on SONiC, and changes nothing.

Redis is read by EVAL in slices: each slice stops after `SLICE_MS` or `SLICE_ITEMS` and says where to go on, so that no
script holds a switch's Redis for long. No KEYS anywhere. One process reads all databases where the switch says where
they are; otherwise, and in namespaces, `sonic-db-cli` does. FRR is read through `vtysh` where we are
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
# All slices of all databases together; where something hung, all are asked again with a limit for each slice.
_DB_LIMIT_S = 5
_DBS_LIMIT_S = 20
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

# The same loop over the slices in one process, where the switch has all databases in the host's own instances: nine
# starts of a client cost a small switch more than reading does. It says where they are as SONiC's libraries find them
# (sonic-swss-common:common/database_config.json). Only what a bare interpreter has at hand: imports cost as much again.
# Status 3 says that nothing was read; `sonic-db-cli` does it then.
_READER = r"""
import sys,_socket
tok,config,items,ms,lua=sys.argv[1:6]
def value(text,name):
    text=text.split(chr(34)+name+chr(34),1)[1].split(":",1)[1].lstrip()
    return text[1:].split(chr(34),1)[0] if text[0]==chr(34) else text.split(",")[0].split("}")[0].strip()
def say(what):
    for out in (sys.stdout,sys.stderr) if what.startswith("begin") else (sys.stdout,):
        out.write("\n@@%s %s\n"%(tok,what)); out.flush()
try:
    text=open(config).read()
    instances,databases=text.split(chr(34)+"DATABASES"+chr(34),1)
    wanted=[]
    for word in sys.argv[6:]:
        if word.endswith("_DB"):
            block=databases.split(chr(34)+word+chr(34),1)[1].split("}",1)[0]
            place=instances.split(chr(34)+value(block,"instance")+chr(34),1)[1].split("}",1)[0]
            wanted.append((word,int(value(block,"id")),place,[]))
        else:
            wanted[-1][3].append(word)
    links={}
    def link(place):
        if place not in links:
            try:
                one=_socket.socket(_socket.AF_UNIX); one.settimeout(@DB_S@)
                one.connect(value(place,"unix_socket_path"))
            except OSError:
                one=_socket.socket(); one.settimeout(@DB_S@)
                one.connect((value(place,"hostname"),int(value(place,"port"))))
            links[place]=one
        return links[place]
    for each in wanted: link(each[2])
except Exception:
    sys.exit(3)
def ask(one,*words):
    data=b"*%d\r\n"%len(words)
    for word in words:
        word=word.encode(); data+=b"$%d\r\n%s\r\n"%(len(word),word)
    one.sendall(data)
    got=b""
    while b"\r\n" not in got: got+=more(one)
    head,_,rest=got.partition(b"\r\n")
    if head[:1]!=b"$": return head
    size=int(head[1:])+2
    parts=[rest]; have=len(rest)
    while have<size:
        parts.append(more(one)); have+=len(parts[-1])
    return b"".join(parts)[:-2]
def more(one):
    data=one.recv(1<<18)
    if not data: raise OSError("Redis hung up")
    return data
for name,number,place,jobs in wanted:
    say("begin db."+name)
    rc=0
    try:
        one=link(place)
        if one is None: raise TimeoutError("no answer in time")
        told=ask(one,"SELECT",str(number))
        if told!=b"+OK": raise OSError(told.decode("utf-8","replace"))
        state=b"1:0:0"; slices=0
        while state!=b"0":
            told=ask(one,"EVAL",lua,"0",state.decode(),items,ms,*jobs)
            state,line,body=told.partition(b"\n")
            if not line or state.strip(b"0123456789:"):
                sys.stdout.buffer.write(told+b"\n"); rc=1 if told[:1]==b"-" else 90
                break
            sys.stdout.buffer.write(body+b"\n")
            slices+=1
            if slices>=2000:
                rc=91
                break
    except OSError as error:
        rc=124 if isinstance(error,TimeoutError) else 1
        # What hangs is not asked again for the next database; what hung up is.
        links[place]=None
        if rc==1: del links[place]
        sys.stderr.write("%s\n"%error)
    sys.stdout.buffer.flush()
    say("end db.%s %d"%(name,rc))
"""

_DATABASES = "/var/run/redis/sonic-db/database_config.json"

_SHELL = r"""
main() {
tok=$1
nl='
'
LC_ALL=C
export tok
PATH=$PATH:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin
export LC_ALL PATH
begin() { printf '\n@@%s begin %s\n' "$tok" "$*"; printf '\n@@%s begin %s\n' "$tok" "$*" >&2; }
end() { printf '\n@@%s end %s %s\n' "$tok" "$1" "$2"; }
run() { name=$1; limit=$2; shift 2; begin "$name"; timeout -k 2 "$limit" "$@"; end "$name" $?; }
file() {
 [ -r "$1" ] || return 0
 printf 'file %s\n' "$1"
 while IFS= read -r line || [ -n "$line" ]; do printf '%s\n' "$line"; done <"$1"
}
hide() { sed -e 's/\(neighbor [^ ]* password\) .*/\1 <hidden>/' -e 's/^\( *\(enable \)*password\) .*/\1 <hidden>/'; }
marks='
begin() { printf "\n@@%s begin %s\n" "$tok" "$*"; printf "\n@@%s begin %s\n" "$tok" "$*" >&2; }
end() { printf "\n@@%s end %s %s\n" "$tok" "$1" "$2"; }
'
ips() { timeout -k 2 10 sh -c "$marks$1"; }
reads=$marks'
nl="
"
db() {
 name=$1; shift
 for ns in $spaces; do
  if [ "$ns" = - ]; then what=db.$name; cli=sonic-db-cli; else what=db.$name@$ns; cli="$sudo sonic-db-cli -n $ns"; fi
  begin "$what"
  state=1:0:0; rc=0; slices=0
  while :; do
   out=$($limit $cli "$name" EVAL "$lua" 0 "$state" @ITEMS@ @MS@ "$@")
   rc=$?
   [ $rc = 0 ] || { printf "%s\n" "$out"; break; }
   state=${out%%"$nl"*}
   case $state in
    0|[1-9]*:[0-9]*:[0-9]*) ;;
    *) printf "%s\n" "$out"; rc=90; break;;
   esac
   printf "%s\n" "${out#*"$nl"}"
   [ "$state" = 0 ] && break
   slices=$((slices+1))
   [ $slices -lt 2000 ] || { rc=91; break; }
  done
  end "$what" $rc
 done
}
'
dbs() {
 reads_all=$1; shift
 if [ "$spaces" = - ] && [ -r @DATABASES@ ] && command -v python3 >/dev/null; then
  timeout -k 1 @DBS_S@ python3 -S -E -c "$reader" "$tok" @DATABASES@ @ITEMS@ @MS@ "$lua" "$@" && return 0
 fi
 set -- "$reads_all"
 export lua spaces sudo
 limit= timeout -k 1 @DBS_S@ sh -c "$reads$1"
 case $? in 124|137) limit='timeout -k 1 @DB_S@' sh -c "$reads$1";; esac
}
vty() {
 { { timeout -k 2 @FRR_S@ "$@"; echo $? >&3; } | hide >&4; } 3>&1
}
frr_all() {
 names=$1; shift
 [ -n "$vtysh" ] || return 1
 begin "frr $names"
 { rc=$(vty $vtysh "$@"); } 4>&1
 end frr "$rc"
 return "$rc"
}
frr_one() {
 begin "frr.$1"
 { rc=$(vty ${vtysh:-$sudo rvtysh} -c "$2"); } 4>&1
 end "frr.$1" "$rc"
}
may() { sudo -n -l vtysh -c 'show ip route json' >/dev/null 2>&1; }
uid=; groups=
while read -r key first value rest; do
 case $key in Uid:) uid=$value;; Groups:) groups=" $first $value $rest "; break;; esac
done </proc/self/status
uid=${uid:-$(id -u)}
sudo='sudo -n'; vtysh=
# Debian's group sudo is 27 everywhere; for others sudo is asked first, since a refusal is reported to its keeper.
if [ "$uid" = 0 ]; then sudo=; vtysh=vtysh; else case $groups in
 *" 27 "*) vtysh='sudo -n vtysh';;
 *) if may; then vtysh='sudo -n vtysh'; fi;;
esac; fi
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
    asked = database_jobs(wanted)
    if asked:
        reads = "\n".join(f"db {database} {_shell_words(jobs)}" for database, jobs in asked.items())
        words = _shell_words(word for database, jobs in asked.items() for word in (database, *jobs))
        lines.append(f"dbs {quote(reads)} {words}")
    frr = [(name, command) for part, name, command in FRR_COMMANDS if part in wanted]
    if frr:
        together = " ".join(f"-c {quote(command)}" for _, command in frr)
        singly = "; ".join(f"frr_one {name} {quote(command)}" for name, command in frr)
        lines.append(f"frr_all {quote(' '.join(name for name, _ in frr))} {together} || {{ may || vtysh=; {singly}; }}")
    if Part.LLDP in wanted:
        lines.append("run lldpctl 10 $sudo lldpctl -f json0")
    kernel = [("kernel4", "ip -j -4 route show table main"), ("kernel6", "ip -j -6 route show table main")]
    asked_of_kernel = [
        *(kernel if Part.KERNEL in wanted else ()),
        *([("neighbours", "ip -j neigh show")] if Part.NEIGHBOURS in wanted else ()),
    ]
    if asked_of_kernel:
        lines.append(f"ips '{'; '.join(f'begin {name}; {say}; end {name} $?' for name, say in asked_of_kernel)}'")
    reader = _READER.strip().replace("@DB_S@", str(_DB_LIMIT_S))
    body = (
        _SHELL.replace("@DB_S@", str(_DB_LIMIT_S))
        .replace("@DBS_S@", str(_DBS_LIMIT_S))
        .replace("@ITEMS@", str(SLICE_ITEMS))
        .replace("@MS@", str(SLICE_MS))
        .replace("@DATABASES@", _DATABASES)
        .replace("@FRR_S@", str(_COMMAND_LIMIT_S))
        .replace("@LOCK@", quote(_LOCK_FOLDER))
        .replace("@LOCK_S@", str(_LOCK_WAIT_S))
        .replace("@PARTS@", "\n".join(lines))
    )
    return f"lua={quote(lua())}\nreader={quote(reader)}\n{body.strip()}\nmain {token} </dev/null\n"


def lua() -> str:
    """The Lua of one slice, as it is given to EVAL."""
    return LUA.strip().replace("SCAN_COUNT", str(_SCAN_COUNT))


def _shell_words(words: Iterable[str]) -> str:
    return " ".join(quote(word) for word in words)
