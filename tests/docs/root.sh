#!/bin/bash
# Runs the documents' commands where hardly anything is: in a root directory with the least of
# Debian. To it come the packages that the pages need, and the wheel of build/packages. Nothing of
# it stays. (make test-docs-root)
#
#     tests/docs/root.sh [WORDS]      for pytest's -k
set -euo pipefail
cd "$(dirname "$0")/../.."

# Only the first two of these are the tests' own.
PACKAGES=python3-pytest,python3-yaml,python3-venv,python3-pil,python3-torchvision,python3-h5py,python3-lmdb
TREE=/stoker

skip() {
    echo "skipped: test-docs-root: $1"
    exit 0
}

furnish() {
    debootstrap --variant=minbase --include="$PACKAGES" bookworm "$1" >"$1.log" 2>&1 || {
        tail -n 5 "$1.log" >&2
        skip "debootstrap failed"
    }
    mkdir -p "$1$TREE/build"
    cp -a README.md docs examples tests cli "$1$TREE"
    cp -a build/packages "$1$TREE/build"
}

# As the first process of mount and process namespaces of its own, with which all of this goes.
enter() {
    mount --make-rprivate /
    mount --bind "$1" "$1"
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount -t tmpfs -o mode=1777 shm "$1/dev/shm"
    # shellcheck disable=SC2016  # the shell inside expands it
    chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -euc '
        cd "$1"
        python3 -m venv --system-site-packages /reader
        /reader/bin/pip install --quiet --no-index --find-links build/packages stoker
        export READER_BIN=/reader/bin
        exec python3 -m pytest -q --tb=short tests/docs/test_blocks.py -k "test_page and (${2:-test})"' \
        sh "$TREE" "$2"
}

if [ "${1:-}" = --enter ]; then
    enter "$2" "$3"
    exit
fi
[ "$(id -u)" = 0 ] || skip "only root can make a root directory"
command -v debootstrap >/dev/null || skip "no debootstrap"
work=$(mktemp -d /var/tmp/stoker-root.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir -m 755 "$work/root"
furnish "$work/root"
unshare --mount --pid --fork --kill-child "$0" --enter "$work/root" "${1:-}"
