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

# only HEADER FILE...: no other files of ours may include the library's header.
only() {
    header=$1
    shift
    allowed=$(echo "$*" | tr ' ' '|')
    bad=$(grep -rl "<$header>" base cache preload cli decode store wrappers --exclude='*.mk' |
        grep -vxE "$allowed" || true)
    if [ -n "$bad" ]; then
        echo "arrows: $header may be included only by: $*" >&2
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
only xxhash.h base/hash.c store/content_avx2.c
only Python.h wrappers/python/core/core.h wrappers/python/core/samples/samples.c
only lmdb.h store/env.c
exit $failed
