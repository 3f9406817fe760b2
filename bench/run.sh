#!/bin/bash
# Measures Stoker against its peers, and prints a table. `make bench` calls it.
#
#     bench/run.sh [PART...]      those of bench/parts/__init__.py; without a name all but peers and gpu
#                                 (make bench-peers, make bench-gpu)
#
# As root it works in a mount namespace of its own, with an empty /dev/shm, so that no other cache is
# touched and nothing is left behind. Figures go to build/bench/PART.json, data sets stay there for
# the next time. Variables: BENCH_QUICK=1 makes few repetitions, to see whether it works.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-/usr/bin/python3}
out=build/bench
cc=${CC:-gcc}
flags="-std=gnu11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -I."

build() {
    mkdir -p $out
    # shellcheck disable=SC2086  # one word per flag
    {
        $cc $flags bench/programs/loop.c -o $out/loop
        $cc $flags bench/programs/spawn.c -o $out/spawn
        $cc $flags bench/programs/breakdown.c build/obj/cache/*.o build/obj/cache/*/*.o build/obj/base/*.o -o $out/breakdown
        $cc $flags bench/programs/many.c build/obj/cache/*.o build/obj/cache/*/*.o build/obj/base/*.o -o $out/many
        $cc $flags bench/programs/samples.c build/obj/store/*.o build/obj/base/*.o -llmdb -pthread \
            -o $out/samples || rm -f $out/samples
        echo | $cc -shared -x c - -o $out/empty.so
    }
}

# The further needs of the epochs: without them that part says so, and the others run.
prepare_epochs() {
    case " $* " in "  " | *" epochs "* | *" image "* | *" recipes "* | *" batches "* | *" feed "* | *" warm "* | *" scan "* | *" ahead "* | *" big "* | *" readers "* | *" outgrown "* | *" places "* | *" cluster"* | *" gpu "*) ;; *) return ;; esac
    { scripts/deps.sh demo && ${MAKE:-make} --no-print-directory build/slowfs; } ||
        echo "bench: no slow file system: the epochs will be left out" >&2
}

# The decoder as a library, and its stages; photographs.
prepare_decode() {
    case " $* " in "  " | *" decode "* | *" stages "* | *" entropy "* | *" form "* | *" peers "*) ;; *) return ;; esac
    { scripts/deps.sh demo && ${MAKE:-make} --no-print-directory build/tests/libdecode.so &&
        build_stages; } || echo "bench: no decoder: that part will be left out" >&2
}

# Their clocks are put around what is called from one file of decode/ to another, and into libjpeg.
build_stages() {
    local each wraps=
    for each in jpeg_start_decompress stk_jpeg_header stk_jpeg_start stk_jpeg_stop stk_taps_make \
        stk_emit_line stk_entropy_parse stk_entropy_play stk_units_start \
        stk_jpeg_header_of_form stk_make_of_scan stk_unpacker_read stk_form_player_start; do
        wraps="$wraps -Wl,--wrap=$each"
    done
    # shellcheck disable=SC2086  # one word per flag
    $cc $flags bench/programs/stages.c build/libstokerdecode.a $wraps -l:libjpeg.a -lm -o $out/stages
    # shellcheck disable=SC2086
    $cc $flags bench/programs/entropy.c build/libstokerdecode.a -l:libjpeg.a -lm -o $out/entropy
    # shellcheck disable=SC2086
    $cc $flags bench/programs/symbols.c -l:libjpeg.a -o $out/symbols
    # shellcheck disable=SC2086
    $cc $flags bench/programs/form.c build/libstokerdecode.a -l:libjpeg.a -lm -o $out/form
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
