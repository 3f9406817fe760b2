#!/bin/sh
# Finds out whether the libraries of the build are there, and says what to install.
#
#     scripts/needed.sh check NAME...   exits 1 with one line when one of them, or the compiler, is missing:
#                                       xxhash, jpeg, python
#     scripts/needed.sh lmdb            prints what links LMDB; nothing where it is missing
#     scripts/needed.sh deflate         the same for libdeflate
#     scripts/needed.sh lto             prints what optimises at the link; nothing where the compiler cannot
#
# The environment says CC, FLAGS and LDFLAGS, which may name other directories, JPEG_LIBS and PYTHON.
set -eu

# Prints what to install: the name that Debian and Ubuntu know, and Fedora's.
names() {
    case $1 in
    compiler) echo gcc gcc ;;
    libc) echo libc6-dev glibc-devel ;;
    python) echo python3-dev python3-devel ;;
    xxhash) echo libxxhash-dev xxhash-devel ;;
    jpeg) echo libjpeg-dev libjpeg-turbo-devel ;;
    esac
}

# Succeeds if this text compiles and links with these flags.
links() {
    text=$1
    shift
    # shellcheck disable=SC2086  # flags are words
    printf '%s\n' "$text" |
        ${CC:-cc} ${FLAGS:-} -fPIC -x c - -o "$out" ${LDFLAGS:-} "$@" >/dev/null 2>&1
}

has_compiler() {
    command -v "${CC:-cc}" >/dev/null
}

# Succeeds if a program with all of these headers compiles and links.
has_headers() {
    text='' libs=''
    for header; do
        case $header in
        libc)
            text="$text
#include <stdio.h>
int libc(void) { return fputs(\"\", stdout); }"
            ;;
        xxhash)
            text="$text
#include <xxhash.h>
int xxhash(void) { return XXH_VERSION_NUMBER == 0; }"
            ;;
        jpeg)
            libs=${JPEG_LIBS:-} text="$text
#include <stdio.h>
#include <jpeglib.h>
#ifndef LIBJPEG_TURBO_VERSION
#error \"another libjpeg\"
#endif
static struct jpeg_decompress_struct cinfo;
int jpeg(void) { jpeg_create_decompress(&cinfo); return 0; }"
            ;;
        *) return 1 ;;
        esac
    done
    # shellcheck disable=SC2086  # flags are words
    links "$text
int main(void) { return 0; }" $libs
}

# Asks the Python that runs the package's build, which need not be the system's.
has_python() {
    [ -s "$(${PYTHON:-python3} -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ]
}

has_lmdb() {
    links "$(cat store/archive/stderr.c)
#include <lmdb.h>
int use(MDB_env **env) { return mdb_env_create(env); }" -shared "$@"
}

# The archive first: then no program needs the library at run time. Its symbols stay inside, as py-lmdb
# brings an LMDB of its own.
say_lmdb() {
    for libs in '-l:liblmdb.a -Wl,--exclude-libs,liblmdb.a -Wl,--wrap=stderr' -llmdb; do
        # shellcheck disable=SC2086  # flags are words
        if has_lmdb $libs -pthread; then
            echo "$libs"
            return
        fi
    done
}

has_deflate() {
    links '#include <libdeflate.h>
int use(void) { return libdeflate_alloc_decompressor() != 0; }' -shared "$@"
}

# As LMDB: the archive first.
say_deflate() {
    for libs in '-l:libdeflate.a -Wl,--exclude-libs,libdeflate.a' -ldeflate; do
        # shellcheck disable=SC2086  # flags are words
        if has_deflate $libs; then
            echo "$libs"
            return
        fi
    done
}

say_lto() {
    if links 'int use(void) { return 0; }' -shared -flto=auto; then
        echo -flto=auto
    fi
}

# Where nothing can be compiled, the headers' files decide.
is_there() {
    case $1 in
    xxhash) header=xxhash.h ;;
    jpeg) header=jpeglib.h ;;
    libc) header=stdio.h ;;
    *) header= ;;
    esac
    if [ -n "$header" ] && ! has_compiler; then
        [ -s "/usr/include/$header" ]
    else
        case $1 in
        compiler | python) "has_$1" ;;
        *) has_headers "$1" ;;
        esac
    fi
}

# Mostly all is there: then one look takes a third of the time of one look at each.
check() {
    ! has_headers libc "$@" || return 0
    debian='' fedora=''
    for name in compiler libc "$@"; do
        if ! is_there "$name"; then
            # shellcheck disable=SC2046  # two words
            set -- $(names "$name")
            debian="$debian $1" fedora="$fedora $2"
        fi
    done
    if [ -n "$debian" ]; then
        echo "make: what the build needs is missing:" \
            "apt-get install$debian (Fedora: dnf install$fedora)" >&2
        exit 1
    fi
}

out=$(mktemp)
trap 'rm -f "$out"' EXIT
case ${1:-} in
check)
    shift
    check "$@"
    ;;
lmdb) say_lmdb ;;
deflate) say_deflate ;;
lto) say_lto ;;
*)
    echo "usage: scripts/needed.sh check NAME... | lmdb | deflate | lto" >&2
    exit 2
    ;;
esac
