#!/bin/bash
# Runs the unit tests by their cases, several at a time: most of their time they wait.
#     tests/unit/run.sh PROGRAM [NAME]      NAME: one suite, or one case of a suite
# The names of cases that fail go to the file UNIT_FAILED. With ALONE set, those in it are run, one after the other.
set -uo pipefail
program=$1 name=${2:-}
[ -z "$name" ] || exec "$program" "$name"
export program

# The cases of base and cache, which allocate nothing on the heap (tests/preload/symbols/test_abi.py). The address
# sanitizer's search for leaks at the end of each test takes four times as long as such a test.
without_heap=$(sed -n 's/.*unit_case([a-z]*, "\([a-z_0-9]*\)").*/\1/p' tests/unit/{base,cache/*}/test_*.c)
export without_heap

# Runs one case. Shows the tests that it skipped, and all that it says if it fails.
# shellcheck disable=SC2317  # xargs calls it
run_case() {
    local leaks=1
    ! grep -qx "$1" <<<"$without_heap" || leaks=0
    if said=$(ASAN_OPTIONS=detect_leaks=$leaks "$program" "$1" 2>&1); then
        grep '^skipped' <<<"$said"
        sed -n "s/^100%: \(Checks: [0-9]*\).*/\1 $1/p" <<<"$said"
    else
        printf '%s: failed\n%s\n' "$1" "$said"
        [ -z "${UNIT_FAILED:-}" ] || echo "$1" >>"$UNIT_FAILED"
        return 1
    fi
}
export -f run_case

# The names of all cases. Those of the store come first, since they wait for the longest time.
cases() {
    if [ -n "${ALONE:-}" ] && [ -s "${UNIT_FAILED:-}" ]; then
        sort -u "$UNIT_FAILED"
        return
    fi
    "$program" --cases | grep '^store'
    "$program" --cases | grep -v '^store'
}

said=$(mktemp)
trap 'rm -f "$said"' EXIT
mapfile -t names < <(cases)
printf '%s\n' "${names[@]}" | xargs -P "${ALONE:-6}" -I '{}' bash -c 'run_case {}' >"$said"
status=$?
grep -v '^Checks: ' "$said"
awk '/^Checks: / { all += $2 } END { print all " checks passed" }' "$said"
exit $status
