#!/bin/sh
# Checks the dependency law: arrows between rooms point down, and siblings do not know each other.
#   base <- cache <- preload, cli
#   base <- decode, store, ring
#   base, ring <- gpu
#   base, decode, store, ring, gpu <- wrappers
# And within the package `stoker`, where each room also says which libraries it needs:
#   _slots, _core <- _store <- _pillow <- _torchvision <- the modules beside the rooms
#   _slots, _core <- _torch <- _torchvision <- _feeding <- the modules beside the rooms
#   _processors <- _feeding <- the modules beside the rooms
#   _ending, _own <- _pillow, _torch
#   _own <- _torchvision
#   _slots, _core, _gpu_core <- _gpu <- the modules beside the rooms
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
    bad=$(grep -rl "<$header>" base cache preload cli decode store ring gpu wrappers --exclude='*.mk' |
        grep -vxE "$allowed" || true)
    if [ -n "$bad" ]; then
        echo "arrows: $header may be included only by: $*" >&2
        echo "$bad" >&2
        failed=1
    fi
}

package=wrappers/python/stoker
rooms=

# room NAME LIBRARIES ALLOWED...: the package's room needs only these libraries (-: none), and imports of
# the package only what is allowed. Never by the name `stoker`, which may be a module of the program's.
room() {
    room=$1 libraries=$2
    shift 2
    rooms="$rooms $room"
    [ -d "$package/$room" ] || return 0
    allowed=$(echo "$*" | tr ' ' '|')
    bad=$(
        grep -rnE '^ *(from|import) +(\.\.|_?stoker)|import_module\(' "$package/$room" --include='*.py' |
            grep -vE "from \.\. import ($allowed)(, ($allowed))*( *#.*)?$" |
            grep -vE "from \.\.($allowed)(\.[a-z_]+)* import |import_module\(\"\.\.($allowed)\"," || true
        grep -rnE '^ *(from|import) +(PIL|numpy|torch|torchvision)\b' "$package/$room" --include='*.py' |
            grep -vE "(from|import) +($(echo "$libraries" | tr ' ' '|'))\b" || true
    )
    if [ -n "$bad" ]; then
        echo "arrows: $room may import only from: $* (and of libraries: $libraries)" >&2
        echo "$bad" >&2
        failed=1
    fi
}

all_rooms() {
    for directory in "$package"/_*/; do
        name=$(basename "$directory")
        case " $rooms __pycache__ " in
        *" $name "*) ;;
        *)
            echo "arrows: nothing says what $directory may import" >&2
            failed=1
            ;;
        esac
    done
}

check base
check cache base
check preload cache base
check cli cache base
check decode base
check store base
check ring base
check gpu ring base
check wrappers decode store ring gpu base
only xxhash.h base/hash.c store/content_avx2.c
only Python.h wrappers/python/core/core.h wrappers/python/core/samples/samples.c \
    wrappers/python/core/gpu/parts.h
only lmdb.h store/env.c
room _store - _samples_core _core _slots
room _pillow PIL _store _core _slots _ending _own
room _torch torch _core _slots _ending _own
room _gpu torch _gpu_core _core _slots
room _torchvision "PIL numpy torch torchvision" _torch _pillow _store _core _slots _own
room _feeding "PIL numpy torch" _torchvision _torch _pillow _store _core _slots _processors
all_rooms
exit $failed
