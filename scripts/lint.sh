#!/bin/bash
# All that can be checked without running: format, prose, flake8, two compilers, clang-tidy, cppcheck, shellcheck.
#     scripts/lint.sh SOURCE...      (make lint gives all C sources)
set -euo pipefail
cd "$(dirname "$0")/.."

step() {
    echo "lint: $1" >&2
}

own=()
for source in "$@"; do
    case $source in base/* | cache/* | preload/* | cli/* | decode/* | store/* | ring/* | gpu/* | wrappers/*) own+=("$source") ;; esac
done
# Kernels of other processors cannot be read with this one's headers.
machine=$(gcc -dumpmachine)
mapfile -t units < <(printf '%s\n' "${own[@]}" | grep '\.c$' |
    grep -vE "decode/kernels/[^/]*/" &&
    printf '%s\n' "${own[@]}" | grep -E "decode/kernels/(plain|${machine%%-*})/.*\.c$")

scripts/style.sh "$@"

step "flake8"
flake8 --select E9,F4,F5,F6,F7,F841 --extend-exclude build,.venv .

step "warnings (gcc, clang)"
make -s B=build/lint-gcc CC=gcc WERROR=-Werror >/dev/null
make -s B=build/lint-clang CC=clang WERROR=-Werror >/dev/null

step "clang-tidy"
python_h=$("${PYTHON:-/usr/bin/python3}" -c 'import sysconfig; print(sysconfig.get_path("include"))')
printf '%s\0' "${units[@]}" | xargs -0 -n 8 -P "$(nproc)" \
    sh -c 'clang-tidy --quiet "$@" -- -std=gnu11 -D_GNU_SOURCE -I. -isystem '"$python_h"' 2>/dev/null' sh

step "cppcheck"
cppcheck --quiet --error-exitcode=1 --std=c11 -D_GNU_SOURCE -D__x86_64__ -I. --inline-suppr \
    --enable=warning,portability --suppress=missingIncludeSystem \
    --suppress=unmatchedSuppression -j "$(nproc)" '-DPy_RETURN_NONE=return Py_None' \
    base cache preload cli decode store ring gpu wrappers
echo "lint: clean" >&2
