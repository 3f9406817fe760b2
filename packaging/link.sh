#!/bin/bash
# Links as the compiler that is named would, so that the result runs with old versions of glibc, too.
# Wherever glibc has a symbol in several versions, the result asks for the newest of those up to 2.17.
# It is linked of copies of the objects and archives, whose undefined names carry that version.
#
#     packaging/link.sh COMPILER ARGUMENT...
#
# MAPS names a directory for the linker's maps, of which packaging/sbom.py learns what was linked.
set -euo pipefail

OLDEST=2.17
here=$(cd "$(dirname "$0")" && pwd)
compiler=$1
shift
objcopy=$("$compiler" -print-prog-name=objcopy)
objdump=$("$compiler" -print-prog-name=objdump)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "name name@VERSION" of each symbol whose default version is too new, and that has an older one.
versions() {
    local library
    for library in libc.so.6 libm.so.6; do
        "$objdump" -T "$("$compiler" -print-file-name=$library)"
    done | awk -v oldest="$OLDEST" '
        function number(version, part) {
            split(version, part, /[_.]/)
            return part[2] * 10000 + part[3] * 100 + part[4]
        }
        BEGIN { most = number("GLIBC_" oldest) }
        !/\*UND\*/ && match($0, /\(?GLIBC_[0-9.]+\)?/) {
            version = substr($0, RSTART, RLENGTH)
            hidden = gsub(/[()]/, "", version)
            if (!hidden && number(version) > most) new[$NF] = 1
            if (number(version) <= most && number(version) > number(old[$NF])) old[$NF] = version
        }
        END { for (name in new) if (name in old) print name, name "@" old[name] }'
}

# The copy that is linked in the place of an object or archive. Its name stays: --exclude-libs knows it.
copy_of() {
    local directory
    directory=$(mktemp -d "$work/XXXXXX")
    "$objcopy" --remove-section='.gnu.lto_*' --redefine-syms="$work/versions" "$1" \
        "$directory/${1##*/}"
    echo "$directory/${1##*/}"
}

arguments=()
output='' shared=''
take() {
    local file
    case $1 in
    -l:*.a) file=$("$compiler" "${searched[@]}" -print-file-name="${1#-l:}") ;;
    -shared) shared=1 ;;
    -*) ;;
    *.o | *.a) file=$1 ;;
    esac
    [ -z "${file:-}" ] || set -- "$(copy_of "$file")"
    arguments+=("$1")
}

# A program's start files ask for symbols of libc as well.
start() {
    local name
    for name in "$@"; do
        copy_of "$("$compiler" -print-file-name="$name")"
    done
}

versions >"$work/versions"
searched=()
for argument; do
    case $argument in -L*) searched+=("-B${argument#-L}") ;; esac
done
while [ $# -gt 0 ]; do
    if [ "$1" = -o ]; then
        output=$2
        arguments+=("$1" "$2")
        shift 2
        continue
    fi
    take "$1"
    shift
done
"$compiler" -O2 -fPIC -fvisibility=hidden -c "$here/stat.c" -o "$work/stat.o"
# In older versions they are libraries of their own.
# shellcheck disable=SC2054  # the comma is the linker's
others=('-Wl,--push-state,--no-as-needed' -l:libpthread.so.0 -l:libdl.so.2 -Wl,--pop-state)
first=() last=()
if [ -z "$shared" ]; then
    mapfile -t first < <(start Scrt1.o crti.o crtbeginS.o)
    mapfile -t last < <(start crtendS.o crtn.o)
    first=(-nostartfiles -pie "${first[@]}")
fi
[ -z "${MAPS:-}" ] || arguments+=("-Wl,-Map=$MAPS/${output##*/}.map")
"$compiler" "${first[@]}" "${arguments[@]}" "$work/stat.o" "${others[@]}" "${last[@]}"
