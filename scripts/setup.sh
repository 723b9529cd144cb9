# Set-up that ./test, ./demo and .ci/run share. POSIX sh; read it with `.`, from the root of the source tree.
#
# What it does, after saying so: installs missing Debian packages (as root, or by sudo where sudo asks no password;
# otherwise it says which and goes on), makes .venv and installs railfab and its libraries there. Nothing else.
#
# Debian starts and enables the services of frr, lldpd, redis and ssh when their packages are installed, on the real
# interfaces of this machine. So for the time of the installation a policy-rc.d of ours forbids every start, and what
# the installation has newly enabled is disabled again. Services that stood before stay as they were.

# RAILFAB_NO_SETUP=1 skips all of it: what is there must do.

# Tests set this to a folder that stands for `/`.
setup_root=${RAILFAB_SETUP_ROOT:-}

# What the twin runs; the list of fabric/lab/_needs.py.
twin_packages="frr iproute2 lldpd nftables openssh-client openssh-server redis-server redis-tools sudo"
# What some tests compare with: Slurm's own reading of node lists and topologies, Graphviz's of drawings.
test_packages="graphviz slurm-client slurmctld"

say() { printf '%s\n' "railfab: $*"; }

# Name of a Python that is new enough, or nothing.
find_python() {
    for candidate in "${RAILFAB_PYTHON:-python3}" python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return 0
        fi
    done
    return 1
}

# How to become root: nothing (we are), `sudo -n`, or failure.
as_root() {
    if [ "$(id -u)" -eq 0 ] || [ -n "$setup_root" ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

can_be_root() {
    [ "$(id -u)" -eq 0 ] || [ -n "$setup_root" ] || { command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; }
}

# Of the packages named, those that are not installed.
absent_packages() {
    for package in "$@"; do
        state=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true)
        case $state in
        ii*) ;;
        *) printf '%s ' "$package" ;;
        esac
    done
}

# Every link by which something is started at boot, one a line.
enabled_links() {
    for folder in "$setup_root/etc/systemd/system" "$setup_root/etc/systemd/user"; do
        [ ! -d "$folder" ] || find "$folder" -type l \( -path '*.wants/*' -o -path '*.requires/*' \)
    done
    for level in 0 1 2 3 4 5 6 S; do
        [ ! -d "$setup_root/etc/rc$level.d" ] || find "$setup_root/etc/rc$level.d" -name 'S*' -type l
    done
}

# Disable what is enabled now and was not before ($1: file of the links before).
disable_new() {
    enabled_links | LC_ALL=C sort >"$1.after"
    LC_ALL=C comm -13 "$1" "$1.after" | while IFS= read -r link; do
        case $link in
        "$setup_root"/etc/rc?.d/*)
            # As `update-rc.d NAME disable` does it: S becomes K, which later upgrades respect.
            name=$(basename "$link")
            as_root mv -f "$link" "$(dirname "$link")/K01${name#S??}"
            ;;
        *) as_root rm -f "$link" ;;
        esac
    done
    if [ -z "$setup_root" ] && [ -d /run/systemd/system ]; then
        as_root systemctl daemon-reload || true
    fi
}

policy_mark="railfab keeps services from starting while it installs packages"

# Forbid starts while process $1 lives: what a killed set-up leaves behind forbids nothing and hides nothing.
forbid_starts() {
    policy=$setup_root/usr/sbin/policy-rc.d
    saved=$policy.before-railfab
    restore_policy
    [ ! -e "$policy" ] || as_root mv -f "$policy" "$saved"
    {
        echo '#!/bin/sh'
        echo "# $policy_mark (process $1); it may be removed at any time."
        echo "kill -0 $1 2>/dev/null && exit 101"
        echo "[ ! -x '$saved' ] || exec '$saved' \"\$@\""
        echo 'exit 0'
    } >"$work/policy-rc.d"
    as_root mkdir -p "$(dirname "$policy")"
    as_root install -m 0755 "$work/policy-rc.d" "$policy"
}

restore_policy() {
    if grep -q "$policy_mark" "$policy" 2>/dev/null; then
        as_root rm -f "$policy"
    fi
    [ -e "$policy" ] || [ ! -e "$saved" ] || as_root mv -f "$saved" "$policy"
}

# Undo what stands between the start and the end of an installation, whichever way it ends.
end_install() {
    [ -n "${work:-}" ] || return 0
    [ -z "${policy:-}" ] || restore_policy
    [ ! -f "$work/before" ] || disable_new "$work/before"
    rm -rf "$work"
    work=
}

# Install Debian packages without starting or enabling anything. Failure when it could not.
install_packages() {
    work=$(mktemp -d) || return 1
    trap end_install EXIT
    trap 'end_install; exit 130' INT
    trap 'end_install; exit 143' TERM
    trap 'end_install; exit 129' HUP
    enabled_links | LC_ALL=C sort >"$work/before"
    forbid_starts $$
    status=0
    # Ubuntu's needrestart would restart running services after an installation.
    quiet="DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1"
    # shellcheck disable=SC2086 # a list of assignments
    as_root env $quiet apt-get update -q </dev/null >"$work/log" 2>&1 || status=$?
    if [ "$status" -eq 0 ]; then
        # shellcheck disable=SC2086 # a list of packages
        as_root env $quiet apt-get install -q -y --no-install-recommends $1 \
            </dev/null >>"$work/log" 2>&1 || status=$?
    fi
    [ "$status" -eq 0 ] || tail -n 20 "$work/log" >&2
    end_install
    trap - EXIT INT TERM HUP
    return "$status"
}

# Debian packages: $1 what they are for, the rest their names.
debian_packages() {
    [ -z "${RAILFAB_NO_SETUP:-}" ] || return 0
    purpose=$1
    shift
    if ! command -v dpkg-query >/dev/null 2>&1; then
        say "this is no Debian or Ubuntu; $purpose needs what their packages $* bring"
        return 1
    fi
    # shellcheck disable=SC2046 # a list of packages
    set -- $(absent_packages "$@")
    [ $# -gt 0 ] || return 0
    if ! can_be_root; then
        say "$purpose needs Debian packages, and this user may not install them. Have somebody run:"
        say "    apt-get install --no-install-recommends $*"
        say "(Debian starts their services; 'systemctl disable --now' those you do not want.) Going on without."
        return 1
    fi
    say "installing Debian packages for $purpose: $* (and what they depend on); no service is started or enabled"
    if install_packages "$*"; then
        return 0
    fi
    say "apt-get could not install them; going on without"
    return 1
}

# A user without rights may not run Debian's lldpcli (mode 4750); a copy without rights of its own does for the twin.
own_lldpcli() {
    [ -z "${RAILFAB_NO_SETUP:-}" ] || return 0
    [ "$(id -u)" -ne 0 ] || return 0
    copy=${RAILFAB_LLDPCLI:-${HOME:-/nonexistent}/.cache/railfab/lldpcli}
    [ ! -x /usr/sbin/lldpcli ] && [ ! -x "$copy" ] && [ -e /usr/sbin/lldpcli ] || return 0
    say "copying lldpcli out of Debian's package lldpd to $copy"
    unpack=$(mktemp -d) || return 0
    (cd "$unpack" && apt-get download -q lldpd >/dev/null 2>&1 && dpkg-deb -x lldpd_*.deb . &&
        mkdir -p "$(dirname "$copy")" && install -m 0755 usr/sbin/lldpcli "$copy") ||
        say "could not; the twin says how to get one"
    rm -rf "$unpack"
}

# .venv with railfab and everything Python its tests need. Says so first; does nothing when nothing changed.
python_packages() {
    [ -z "${RAILFAB_NO_SETUP:-}" ] || return 0
    python=$(find_python) || {
        say "Python 3.11 or newer is not here; install it (Debian 12: apt-get install python3) or name it in RAILFAB_PYTHON"
        return 1
    }
    stamp=$("$python" -c '
import hashlib, os, pathlib, sys
print(sys.version_info[:2], hashlib.sha256(pathlib.Path("pyproject.toml").read_bytes()).hexdigest(), os.getcwd())')
    if [ -x .venv/bin/railfab ] && [ "$(cat .venv/railfab-stamp 2>/dev/null)" = "$stamp" ]; then
        return 0
    fi
    if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
        if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
            debian_packages "a virtual environment" python3-venv || {
                say "without it no library can be installed; nothing more can run"
                return 1
            }
        fi
        say "making a virtual environment in .venv"
        "$python" -m venv .venv || return 1
    fi
    say "installing railfab and its Python libraries into .venv (the list: pyproject.toml)"
    if ! .venv/bin/python -m pip install -q --disable-pip-version-check -e '.[dev,yang]'; then
        say "trying once more without the YANG library, which not every machine has a wheel of"
        .venv/bin/python -m pip install -q --disable-pip-version-check -e '.[dev]' || {
            say "pip could not install the libraries; is a package index reachable?"
            return 1
        }
    fi
    printf '%s\n' "$stamp" >.venv/railfab-stamp
}
