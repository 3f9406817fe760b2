#!/bin/bash
# Runs the tests, small ones first, and says at the end what passed: `make test`, `make test T=name`.
#     scripts/test.sh [NAME]
set -uo pipefail
cd "$(dirname "$0")/.." || exit
make=("${MAKE:-make}" --no-print-directory)
name=${1:-}
failed=()

part() {
    echo "== $*"
    "${make[@]}" "$@" || failed+=("$1")
}

# One test by name: a unit suite or case if there is one of that name, else what pytest finds.
one() {
    if grep -rqE "(suite_create|tcase_create|START_TEST|UNIT|SUITE|CASE)[( \"]+$name\b" tests/unit ||
        [ -f "tests/unit/test_$name.c" ]; then
        part test-unit "T=$name"
        return
    fi
    "${make[@]}" test-programs
    STOKER_BUILD=build "${PYTHON:-/usr/bin/python3}" -m pytest -q --tb=short tests/preload \
        tests/python tests/paths tests/versions tests/faults tests/kills tests/cpython \
        tests/neighbours tests/wild tests/decode tests/wrappers tests/transforms -k "$name" ||
        failed+=("$name")
}

all() {
    part test-slowfs
    part test-unit
    part test-stress
    part test-preload
    part test-san
    part test-fuzz
    part test-python
    part test-paths
    part test-versions
    part test-faults
    part test-kills
    part test-cpython
    part test-neighbours
    part test-wild
    part test-kernels
    part test-decode
    part test-wrappers
    part test-transforms
    if [ "${STOKER_ALL:-}" = 1 ]; then
        part test-exact
        part test-arm64
    fi
}

if [ -n "$name" ]; then one; else all; fi
if [ ${#failed[@]} -gt 0 ]; then
    echo "test: failed: ${failed[*]}" >&2
    exit 1
fi
echo "test: all passed"
