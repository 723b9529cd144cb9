"""The way back, written on the switch before anything changes.

One script undoes a run: run by the switch's own timer when nobody confirms (railfab may be dead, or the push may have
cut our way in), by `railfab rollback`, and by a run that failed. It uses only what ships on SONiC.
"""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from fabric.deploy.reading import FOLDER, FRR_FILE, MARK, PENDING

CONTAINER = "bgp"
# Where the bgp container sees /etc/sonic/frr (docker-fpm-frr: bind mount of /etc/sonic/frr on /etc/frr).
CONTAINER_FRR = "/etc/frr"


def checkpoint_name(run_id: str) -> str:
    """Name of the checkpoint of a run on the switch."""
    return f"railfab-{run_id}"


def unit_name(run_id: str) -> str:
    """Name of the timer unit of a run on the switch."""
    return f"railfab-confirm-{run_id}"


def frr_path(run_id: str, what: str) -> tuple[str, str]:
    """(path on the switch, path in the bgp container) of a command file of this run."""
    name = f"railfab-{run_id}-{what}.conf"
    return f"{FRR_FILE.rpartition('/')[0]}/{name}", f"{CONTAINER_FRR}/{name}"


def keep_script(folder: str, run_id: str) -> str:
    """Keep what is there before the change: CONFIG_DB, the saved file, frr.conf with owner and mode, our mark."""
    kept = f"{quote(folder)}/kept"
    return f"""set -e
umask 077
mkdir -p {kept} {FOLDER}
[ -e {kept}/done ] && exit 0
sonic-cfggen -d --print-data >{kept}/running.json
[ -s {kept}/running.json ]
docker exec {CONTAINER} vtysh -c 'show running-config' >{kept}/frr.running 2>/dev/null || :
cp -p /etc/sonic/config_db.json {kept}/config_db.json 2>/dev/null || :
cp -p {FRR_FILE} {kept}/frr.conf 2>/dev/null || :
cp -p {MARK} {kept}/mark.json 2>/dev/null || :
config checkpoint {quote(checkpoint_name(run_id))}
: >{kept}/done
"""


def undo_script(folder: str, run_id: str, *, method: str, frr_commands: Sequence[str]) -> str:
    """The script that puts the switch back; exit status 0 when every part of it worked.

    Ends a half-done step of ours (by `kill -s`: dash takes no `--` after `kill -9`), then: CONFIG_DB by the updater's
    checkpoint (or by reloading what ran before), routing by the commands back, frr.conf and the mark as they were.
    Nothing is saved.
    """
    place = quote(folder)
    kept = f"{place}/kept"
    steps = []
    if method == "reload":
        steps.append("put_files")
        steps.append(f"say config reload -y -f {kept}/running.json")
    else:
        if "gcu" in method:
            steps.append(f"say config rollback {quote(checkpoint_name(run_id))}")
        if frr_commands:
            on_switch, inside = frr_path(run_id, "undo")
            body = "\n".join(frr_commands)
            steps.append(f"cat >{on_switch} <<'end-of-frr'\n{body}\nend-of-frr")
            steps.append(f"say docker exec {CONTAINER} vtysh -f {inside}")
            steps.append(f"rm -f {on_switch}")
        steps.append("put_files")
    body = "\n".join(steps)
    return f"""# Puts this switch back to what it ran before railfab run {run_id}.
umask 022
PATH=$PATH:/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin
export PATH
[ -e {kept}/done ] || {{ echo 'nothing was kept, so nothing was changed'; exit 0; }}
[ -e {place}/changing ] || {{ rm -f {PENDING}; echo 'nothing was changed'; exit 0; }}
[ -e {place}/confirmed ] && [ "$1" = timer ] && exit 0
mkdir {place}/undoing 2>/dev/null || {{ echo 'another undo is running or has run'; exit 3; }}
rc=0
say() {{ echo "+ $*"; "$@" || {{ echo "failed with status $?"; rc=1; }}; }}
back() {{ if [ -e "$1" ]; then cp -p "$1" "$2.railfab" && mv -f "$2.railfab" "$2" || rc=1; else rm -f "$2"; fi; }}
put_files() {{ back {kept}/frr.conf {FRR_FILE}; back {kept}/mark.json {MARK}; }}
for late in patch frr reload; do
 [ ! -s {place}/$late/pid ] || [ -e {place}/$late/rc ] || kill -s KILL -- "-$(cat {place}/$late/pid)" 2>/dev/null
done
{body}
rm -f {PENDING}
[ "$1" = timer ] || systemctl stop {quote(unit_name(run_id))}.timer 2>/dev/null
echo $rc >{place}/undone
exit $rc
"""


def arm_script(folder: str, run_id: str, seconds: int, pending: str) -> str:
    """Start the timer that undoes the run unless it is confirmed. It belongs to systemd, not to our connection."""
    return f"""set -e
umask 077
cat >{PENDING} <<'end-of-pending'
{pending}
end-of-pending
[ ! -e {quote(folder)}/armed ] || exit 0
systemd-run --unit={quote(unit_name(run_id))} --on-active={seconds} /bin/sh {quote(folder)}/undo.sh timer
: >{quote(folder)}/armed
"""


REBOOTED = 5


def same_boot(boot_id: str | None) -> str:
    """End with exit status REBOOTED when the switch has booted since; it then has neither our lock nor our timer."""
    if not boot_id:
        return ""
    here = '"$(cat /proc/sys/kernel/random/boot_id)"'
    return f"[ {here} = {quote(boot_id)} ] || {{ echo 'the switch rebooted meanwhile' >&2; exit {REBOOTED}; }}\n"


def changing_script(folder: str, boot_id: str | None = None) -> str:
    """Say that from here on there is something to undo. Exit status 4 when the timer was faster."""
    place = quote(folder)
    return f"{same_boot(boot_id)}: >{place}/changing; [ ! -e {place}/undoing ] || exit 4"


def abandon_script(folder: str, run_id: str) -> str:
    """Leave a switch that was prepared and not changed: no timer, no checkpoint, no pending confirmation."""
    place = quote(folder)
    return f"""[ -e {place}/changing ] && exit 0
mkdir -p {place}; : >{place}/confirmed
systemctl stop {quote(unit_name(run_id))}.timer 2>/dev/null
grep -q {quote(f'"run_id": "{run_id}"')} {PENDING} 2>/dev/null && rm -f {PENDING}
config delete-checkpoint {quote(checkpoint_name(run_id))} >/dev/null 2>&1
exit 0
"""


def confirm_script(folder: str, run_id: str, boot_id: str | None = None) -> str:
    """Tell the timer to leave it; exit status 4 when it has undone the run already, REBOOTED when a reboot has."""
    place = quote(folder)
    booted = same_boot(boot_id)
    return f"""{booted}[ -e {place}/undoing ] && {{ echo 'the switch has put itself back already'; exit 4; }}
: >{place}/confirmed
[ -e {place}/undoing ] && {{ echo 'the switch is putting itself back'; exit 4; }}
systemctl stop {quote(unit_name(run_id))}.timer 2>/dev/null
rm -f {PENDING}
exit 0
"""


def install_frr_script(source: str) -> str:
    """Put a new frr.conf in place of the old one: the container's owner and mode, in one rename."""
    beside = f"{FRR_FILE}.railfab"
    return f"""set -e
mkdir -p {FRR_FILE.rpartition("/")[0]}
cp {quote(source)} {beside}
if [ -e {FRR_FILE} ]; then chown --reference={FRR_FILE} {beside}; chmod --reference={FRR_FILE} {beside}
else
 owner=$(docker exec {CONTAINER} sh -c 'echo "$(id -u frr):$(id -g frr)"')
 chown "$owner" {beside}; chmod 640 {beside}
fi
mv -f {beside} {FRR_FILE}
"""
