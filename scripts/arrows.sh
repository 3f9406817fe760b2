#!/bin/sh
# Checks the dependency law: arrows between rooms point down, and siblings do not know each other.
#   base <- cache <- preload, cli
#   base <- decode, store
#   base, decode, store <- wrappers
set -eu
cd "$(dirname "$0")/.."
failed=0

# check ROOM ALLOWED...: ROOM's files may include only from the allowed rooms.
check() {
    room=$1
    shift
    allowed=$(echo "$room $*" | tr ' ' '|')
    bad=$(grep -rnE '^#include "' "$room" --include='*.[ch]' | grep -vE "#include \"($allowed)/" || true)
    if [ -n "$bad" ]; then
        echo "arrows: $room may include only from: $room $*" >&2
        echo "$bad" >&2
        failed=1
    fi
}

check base
check cache base
check preload cache base
check cli cache base
check decode base
check store base
check wrappers decode store base
if grep -rln '<xxhash.h>' base cache preload cli decode store | grep -v '^base/hash.c$'; then
    echo "arrows: only base/hash.c may include xxhash.h" >&2
    failed=1
fi
if grep -rln '<Python.h>' base cache preload cli decode store wrappers | grep -vE '^wrappers/python/(core.h|samples/samples.c)$'; then
    echo "arrows: only core.h and samples/samples.c of wrappers/python may include Python.h" >&2
    failed=1
fi
if grep -rln '<lmdb.h>' base cache preload cli decode store wrappers --include='*.[ch]' | grep -v '^store/env.c$'; then
    echo "arrows: only store/env.c may include lmdb.h" >&2
    failed=1
fi
exit $failed
