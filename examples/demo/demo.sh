#!/bin/sh
# `make demo`: shows what Stoker does to a training job whose files lie behind a slow file system.
# Installs what is missing (Debian, root), builds, and hands over to demo.py with all arguments.
set -eu
cd "$(dirname "$0")/../.."

scripts/deps.sh build demo
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo 'demo: building'
if ! "${MAKE:-make}" -s -j"$(nproc)" all build/slowfs >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    echo 'demo: the build failed' >&2
    exit 1
fi
rm -f "$log"
exec /usr/bin/python3 -B examples/demo/demo.py "$@"
