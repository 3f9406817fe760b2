#!/bin/bash
# Unpacks a Debian package of arm64 into a directory, without touching what is installed.
#
#     scripts/arm64-package.sh PACKAGE DIRECTORY
set -euo pipefail

package=$1 directory=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -p "$work/lists/partial" "$directory"
options=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::Lists="$work/lists"
    -o Dir::Cache="$work/cache" -o Dir::State::status=/dev/null -o APT::Sandbox::User=root)
apt-get "${options[@]}" update
(cd "$work" && apt-get "${options[@]}" download "$package")
dpkg -x "$work"/*.deb "$directory"
