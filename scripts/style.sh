#!/bin/bash
# Checks in seconds: the format of the C sources, their headers, the length of the plan, the rules for English, the shell
# scripts, and that all files of Python parse.
#     scripts/style.sh SOURCE...      (make style gives all C sources)
set -euo pipefail
cd "$(dirname "$0")/.."
clang-format --dry-run -Werror "$@"

fail() {
    echo "style: $1" >&2
    exit 1
}

for each in "$@"; do
    case $each in
    *.h) grep -q '^#pragma once$' "$each" || fail "$each lacks #pragma once" ;;
    esac
done
words=$(wc -w <docs/architecture.md)
[ "$words" -le 2500 ] || fail "docs/architecture.md has $words words: at most 2500, to be read in 15 minutes"
scripts/prose.sh
mapfile -t scripts < <(find . -path ./build -prune -o -name '*.sh' -print)
shellcheck "${scripts[@]}" .ci/run
find . -path ./build -prune -o \( -name '*.py' -o -name '*.pyi' \) -print0 |
    xargs -0 python3 -c 'import ast, sys
for name in sys.argv[1:]:
    ast.parse(open(name, encoding="utf-8").read(), name)' || fail "a file of Python does not parse"
