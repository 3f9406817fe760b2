#!/bin/bash
# Measures Stoker against its peers, and prints a table. `make bench` calls it.
#
#     bench/run.sh [PART...]      hit, stat, uncovered, miss, outside, epochs, first, decode; all without
#
# As root it works in a mount namespace of its own, with an empty /dev/shm, so that no other cache is
# touched and nothing is left behind. Figures go to build/bench/PART.json, data sets stay there for
# the next time. Variables: BENCH_QUICK=1 makes few repetitions, to see whether it works.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-/usr/bin/python3}
out=build/bench
cc=${CC:-gcc}

build() {
    mkdir -p $out
    local flags="-std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -I."
    # shellcheck disable=SC2086  # one word per flag
    {
        $cc $flags bench/loop.c -o $out/loop
        $cc $flags bench/spawn.c -o $out/spawn
        $cc $flags bench/breakdown.c build/obj/cache/*.o build/obj/base/*.o -o $out/breakdown
        echo | $cc -shared -x c - -o $out/empty.so
    }
}

# What the epochs need besides: without it that part says so, and the others run.
prepare_epochs() {
    case " $* " in "  " | *" epochs "*) ;; *) return ;; esac
    { scripts/deps.sh demo && ${MAKE:-make} --no-print-directory build/slowfs; } ||
        echo "bench: no slow file system: the epochs will be left out" >&2
}

# The decoder as a library, and photographs.
prepare_decode() {
    case " $* " in "  " | *" decode "*) ;; *) return ;; esac
    { scripts/deps.sh demo && ${MAKE:-make} --no-print-directory build/tests/libdecode.so; } ||
        echo "bench: no decoder: that part will be left out" >&2
}

if [ "${1:-}" != --inside ]; then
    build
    prepare_decode "$*"
    prepare_epochs "$*"
    if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
        exec unshare --mount --propagation private "$0" --inside "$@"
    fi
else
    shift
    mount -t tmpfs tmpfs /dev/shm
fi
exec "$python" bench/main.py "$@"
