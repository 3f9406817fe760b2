#!/bin/bash
# Runs the tests, several parts at a time, and says at the end what passed: `make test`, `make test T=name`.
#     scripts/test.sh [NAME]
# When all parts have ended, the tests that failed are tried once more, one after the other, with nothing beside them (as
# CPython does with its tests). Those that pass then are named at the end: the test, or a part of the library, does not
# bear a busy machine. A test that fails twice has failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
name=${1:-}
scratch=$(mktemp -d)
export MAKE=${MAKE:-make} scratch
# A part that takes as long hangs: it is ended, and what it was doing is shown.
limit=1500
[ "${STOKER_ALL:-}" = 1 ] && limit=14400
export limit
trap 'rm -rf "$scratch"' EXIT

# Runs one part. Its output goes to a file. With `again` set, it runs the tests that failed, without workers (ALONE).
part() {
    PYTEST_ADDOPTS="-o cache_dir=$scratch/cache-$1${again:+ --last-failed}" UNIT_FAILED="$scratch/cases-$1" ALONE=${again:-} \
        "${PYTHON:-/usr/bin/python3}" tests/lib/hang.py "$limit" "$MAKE" --no-print-directory "$1" \
        >"$scratch/$1" 2>&1 || echo "$1" >>"$scratch/failed"
}

# The tests that failed by the output of a part, one a line: those of pytest, and cases of the unit tests.
failures() {
    grep -ahE '^(FAILED|ERROR) |^[a-z_0-9]+: failed$' "$scratch/$1" | cut -c -200 | sort -u
}

# Runs the parts of one line, one after the other. The output of a part is shown when it has ended,
# in one piece: another line's parts run at the same time.
parts() {
    local TIMEFORMAT='%0R %0U %0S' real user system
    for part; do
        { time part "$part" 2>&4; } 4>&2 2>"$scratch/time-$part"
        read -r real user system <"$scratch/time-$part"
        flock "$scratch" cat <(echo "== $part${again:+, again} ($real s, $((user + system)) s of processor)") \
            "$scratch/$part"
    done
}
export -f part parts

# The suite or case of the unit tests with that name, or the case that a test of that name is in.
unit_of() {
    awk -v name="$name" -F'"' '
        FNR == 1 { suite = FILENAME; gsub(/.*test_|\.c/, "", suite); if (suite == name) print name }
        /unit_case\(/ { variable = $1; sub(/ =.*/, "", variable); sub(/.*\*/, "", variable)
                        of[variable] = $2; if ($2 == name) print name }
        /tcase_add/ { split($0, word, /[(), ]+/); if (word[4] == name) print of[word[3]] }
    ' tests/unit/*/test_*.c tests/unit/*/*/test_*.c | head -n 1
}

# The folders with Python's tests. Those of packages want built packages: `make test-packages`.
folders() {
    find tests -name 'test_*.py' -not -path 'tests/packages/*' -printf '%h\n' | sort -u
}

# One test by name: of the unit tests if there is one of that name, else what pytest finds.
one() {
    local unit
    unit=$(unit_of)
    if [ -n "$unit" ]; then
        "$MAKE" --no-print-directory test-unit "T=$unit" || echo "$name" >>"$scratch/failed"
        return
    fi
    "$MAKE" --no-print-directory test-programs
    local found='' status
    for folder in $(folders); do
        STOKER_BUILD=build tests/lib/reachable.sh "${PYTHON:-/usr/bin/python3}" -m pytest -q -rs --tb=short "$folder" \
            -k "$name" >"$scratch/said" 2>&1
        status=$?
        [ "$status" -eq 5 ] && continue # nothing of that name
        found=1
        cat "$scratch/said"
        [ "$status" -eq 0 ] || echo "$folder: $name" >>"$scratch/failed"
    done
    [ -n "$found" ] || echo "no test is called $name" >>"$scratch/failed"
}

# In each line what builds in one directory, or disturbs each other. The longest lines come first, so that
# none is left alone at the end.
lines() {
    cat <<'END'
test-san-address test-fuzz
test-store
test-cache-files
test-cache-tiers
test-wrappers-pillow
test-cli-summary
test-cli-ahead
test-cli-run test-cli-verbs
test-wild
test-san-thread test-slowfs
test-cache-versions
test-preload-paths
test-cache-kills test-stress
test-wrappers-batches
test-cache-faults
test-cache-readers
test-preload-symbols test-preload-programs
test-decode
test-cuda test-wrappers-loader
test-chaos-slice
test-wrappers-torchvision
test-wrappers-decoders
test-make
test-docs
test-wrappers-feed
test-unit
test-preload-cpython
test-preload-neighbours
test-kernels
END
    if [ "${STOKER_ALL:-}" = 1 ]; then
        echo test-libfuzzer
        echo test-exact
        echo test-arm64
    fi
}

# Repeats what failed in the parts that failed; not where so many failed that something is broken.
failed_again() {
    local part
    mapfile -t failed < <(sort -u "$scratch/failed" 2>/dev/null)
    [ ${#failed[@]} -gt 0 ] && [ ${#failed[@]} -le 8 ] || return 0
    mv "$scratch/failed" "$scratch/failed-first"
    for part in "${failed[@]}"; do
        failures "$part" >"$scratch/first-$part"
    done
    again=1 parts "${failed[@]}"
}

# Says of each part that was repeated what had failed in it at first.
say_first() {
    local part
    for part in "${failed[@]}"; do
        if grep -qx "$part" "$scratch/failed" 2>/dev/null; then echo "test: failed twice: $part; at first:"
        else echo "test: failed beside others, passed alone: $part; at first:"; fi
        if [ -s "$scratch/first-$part" ]; then sed 's/^/    /' "$scratch/first-$part"
        else echo "    all of it (its output above names no test)"; fi
    done
}

# Most parts wait for most of their time: three keep a processor busy, and leave tests the time that they need.
all() {
    if ! "$MAKE" --no-print-directory -j"$(nproc)" test-programs; then
        echo test-programs >>"$scratch/failed"
        return
    fi
    lines | xargs -P $((3 * $(nproc))) -I '{}' bash -c 'parts {}'
    failed_again
}

failed=()
if [ -n "$name" ]; then one; else all; fi
[ ! -e "$scratch/failed-first" ] || say_first
if [ -s "$scratch/failed" ]; then
    echo "test: failed: $(tr '\n' ' ' <"$scratch/failed")" >&2
    exit 1
fi
echo "test: all passed"
