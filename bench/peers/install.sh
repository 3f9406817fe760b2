#!/bin/bash
# The libraries that decoding is compared with, from PyPI, in virtual environments below DIRECTORY.
#
#     bench/peers/install.sh DIRECTORY
#
# main/ has those that get along with each other, simd/ Pillow-SIMD, which takes Pillow's place, and
# ffcv/ FFCV, which wants other versions of what it needs. A library that cannot be installed is left out: the
# reason lies in DIRECTORY/NAME.missing and is said by the bench. Some 7 GB, most of it what torch
# brings along.
set -euo pipefail
cd "$(dirname "$0")/../.."

directory=$1
python=${PYTHON:-/usr/bin/python3}

say() {
    echo "bench: $*" >&2
}

environment() {
    [ -x "$directory/$1/bin/python" ] || "$python" -m venv "$directory/$1"
}

# add NAME ENVIRONMENT REQUIREMENT...: once; the last line of what pip says is the reason.
add() {
    local name=$1 log=$directory/$1.log
    local pip=$directory/$2/bin/pip
    shift 2
    [ ! -e "$directory/$name.ready" ] || return 0
    say "installing $*"
    rm -f "$directory/$name.missing"
    if "$pip" install --quiet "$@" >"$log" 2>&1; then
        touch "$directory/$name.ready"
    else
        grep -iE 'error' "$log" | tail -n 1 >"$directory/$name.missing" || true
        say "$name is left out: $(cat "$directory/$name.missing"), see $log"
    fi
}

# Pillow-SIMD and FFCV are built here, FFCV against OpenCV's and libjpeg-turbo's headers.
mkdir -p "$directory"
scripts/deps.sh build peers || say "Debian's packages are missing: what is built from source may be"
environment main
environment simd
environment ffcv
add torch main 'pillow>=13,<14' numpy torch torchvision
add opencv main 'opencv-python-headless>=5,<6'
add simplejpeg main simplejpeg
add dali main nvidia-dali-cuda120
CC="cc -mavx2" add simd simd --no-binary pillow-simd 'pillow-simd>=12.1,<12.2' numpy
# It finds torch where it is already, and keeps the rest to itself.
places=$("$directory/main/bin/python" -c 'import site; print(site.getsitepackages()[0])')
echo "$places" >"$("$directory/ffcv/bin/python" -c 'import site; print(site.getsitepackages()[0])')/main.pth"
add ffcv ffcv ffcv==1.0.2
