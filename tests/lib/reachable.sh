#!/bin/bash
# Runs a command in this checkout, by a path that every user of this machine can enter.
#
#     tests/lib/reachable.sh COMMAND [ARGUMENT...]
#
# Root's tests start programs of this checkout as other users, and homes are often closed (0700). For a
# checkout below such a home the command runs in a mount namespace of its own. There the checkout has a
# second path, in the directory for temporary files. Modes stay as they are. The exit status is the command's.
set -euo pipefail
cd "$(dirname "$0")/../.."

others_enter() {
    setpriv --reuid=65534 --regid=65534 --clear-groups test -r "$PWD/Makefile"
}

if [ "$(id -u)" -ne 0 ] || others_enter; then
    exec "$@"
fi
if ! obstacle=$(unshare --mount true 2>&1); then
    echo "tests: other users cannot enter $PWD, and there are no mount namespaces here ($obstacle):" \
        "tests that start programs as other users are skipped" >&2
    exec "$@"
fi
second=$(mktemp -d)
trap 'rmdir "$second"' EXIT
chmod 755 "$second"
# shellcheck disable=SC2016  # $0 and $@ are those of the inner shell
unshare --mount --propagation private \
    sh -ec 'mount --bind . "$0"; cd "$0"; exec "$@"' "$second" "$@"
