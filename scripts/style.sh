#!/bin/bash
# Checks in seconds: the format of the C sources, the rules for English, the shell scripts.
#     scripts/style.sh SOURCE...      (make style gives all C sources)
set -euo pipefail
cd "$(dirname "$0")/.."
clang-format --dry-run -Werror "$@"
scripts/prose.sh
mapfile -t scripts < <(find . -path ./build -prune -o -name '*.sh' -print)
shellcheck "${scripts[@]}" .ci/run
