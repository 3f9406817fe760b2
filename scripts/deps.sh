#!/bin/bash
# Installs the Debian packages of one or more lists, those that are missing.
#
#     scripts/deps.sh LIST...      a list is a file scripts/packages/LIST.txt
#
# One with a ? behind its name may be unknown here: what needs it is skipped then.
#
# With STOKER_NO_DEPS=1 it does nothing: for other systems, where the same things have other names.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
log=

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

usage() {
    local lists
    lists=$(cd "$here/packages" && printf ' %s' *.txt)
    echo "usage: scripts/deps.sh LIST...   with LIST out of:${lists//.txt/}" >&2
    exit 2
}

# The packages of the lists, one a line, without comments.
wanted() {
    listed "$@" | sed 's/?$//'
}

listed() {
    local name
    for name in "$@"; do
        sed 's/#.*//' "$here/packages/$name.txt"
    done | awk 'NF { print $1 }' | sort -u
}

missing() {
    local package state
    for package in $(listed "$@"); do
        state=$(dpkg-query -W -f='${Status}' "${package%\?}" 2>/dev/null) || true
        [ "$state" = 'install ok installed' ] || echo "$package"
    done
}

# Those of the missing packages that must be installed or can be.
known() {
    local package
    for package in "$@"; do
        case $package in
        *\?) apt-cache show "${package%\?}" >/dev/null 2>&1 && echo "${package%\?}" ;;
        *) echo "$package" ;;
        esac
    done
}

# Turns apt's status lines into one line that says how far it is.
show_progress() {
    local kind percent count=$1 phase
    while IFS=: read -r kind _ percent _; do
        case $kind in
        dlstatus) phase=downloading ;;
        pmstatus) phase=installing ;;
        *) continue ;;
        esac
        [ -t 2 ] && printf '\r\033[K%s %s packages: %.0f%%' "$phase" "$count" "${percent:-0}" >&2
    done
    return 0
}

apt() {
    DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 apt-get -y -qq --no-install-recommends \
        -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@"
}

failed() {
    tail -n 20 "$log" >&2
    fail "deps.sh: $1 failed"
}

# apt's status lines come on descriptor 3, which becomes the pipe; what it says goes to the log.
install() {
    local count
    apt update >>"$log" 2>&1 || failed 'apt-get update'
    # shellcheck disable=SC2046  # one word per package
    set -- $(known "$@")
    [ $# -gt 0 ] || return 0
    echo "deps: installing with apt-get: $*" >&2
    count=$(apt -s install "$@" 2>>"$log" | grep -c '^Inst ') || failed 'apt-get install'
    apt -o APT::Status-Fd=3 install "$@" 3>&1 >>"$log" 2>&1 | show_progress "$count" ||
        failed 'apt-get install'
    if [ -t 2 ]; then printf '\r\033[K' >&2; fi
    echo "deps: $count packages installed" >&2
}

main() {
    [ $# -gt 0 ] || usage
    local name packages
    for name in "$@"; do
        [ -f "$here/packages/$name.txt" ] || usage
    done
    [ -z "${STOKER_NO_DEPS:-}" ] || return 0
    if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
        fail 'deps.sh: this is no Debian. Install what corresponds to these packages:' \
            "    $(wanted "$@" | xargs)" \
            'and run this again with STOKER_NO_DEPS=1 in the environment.'
    fi
    packages=$(missing "$@")
    [ -n "$packages" ] || return 0
    if [ "$(id -u)" != 0 ]; then
        packages=$(printf '%s\n' "$packages" | sed '/?$/d')
        [ -n "$packages" ] || return 0
        fail 'deps.sh: packages are missing, and only root can install them:' \
            "    sudo apt-get install --no-install-recommends $(xargs <<<"$packages")"
    fi
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    # shellcheck disable=SC2086  # one word per package
    install $packages
}

main "$@"
