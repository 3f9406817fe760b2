#!/bin/bash
# Makes a Debian package of what is staged below /usr: the same bytes each time.
#
#     packaging/deb.sh STAGE VERSION MACHINE DIRECTORY LEGAL...     MACHINE: x86_64, aarch64
set -euo pipefail

stage=$1 version=$2 machine=$3 packages=$4
shift 4
case $machine in
x86_64) architecture=amd64 ;;
aarch64) architecture=arm64 ;;
*)
    echo "deb.sh: no name is known for $machine" >&2
    exit 1
    ;;
esac
maintainer='Stoker developers <maintainers@stoker.invalid>'
doc=$stage/usr/share/doc/stoker

# Prints the licences that the package must state: ours, and those of the parts inside.
copyright() {
    local file
    for file; do
        case $file in
        */LICENSE | LICENSE) printf 'Stoker\n\n' ;;
        *.txt) printf '\n\nInside is %s\n\n' "$(basename "$file" .txt)" ;;
        *) continue ;;
        esac
        cat "$file"
    done
}

# In the form of Debian's, which our own has not.
changelog() {
    printf 'stoker (%s) unstable; urgency=medium\n\n  * What is new is in CHANGELOG.md.\n\n -- %s  %s\n' \
        "$version" "$maintainer" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")"
}

install -d "$doc" "$stage/DEBIAN"
copyright "$@" >"$doc/copyright"
changelog | gzip -9n >"$doc/changelog.gz"
for file; do
    case $file in *.json) cp "$file" "$doc" ;; esac
done
find "$stage/usr/share/man" -type f -exec gzip -9n {} + 2>/dev/null || true
cat >"$stage/DEBIAN/control" <<CONTROL
Package: stoker
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Section: utils
Priority: optional
Depends: libc6 (>= 2.17)
Recommends: python3 (>= 3.11)
Suggests: python3-pil, python3-torchvision
Installed-Size: $(du -k -s --apparent-size "$stage/usr" | cut -f1)
Description: cache for training jobs that read one data set again and again
 Stoker feeds a GPU that waits for data. One command in front of a training
 command has the files of its data set come from this machine's memory or
 local disk from the second epoch on. The script stays as it is: a preloaded
 library serves what the job opens, and Python programs have JPEGs decoded
 faster, with the same pixels.
CONTROL
# Files that Python has compiled meanwhile would stay.
cat >"$stage/DEBIAN/prerm" <<'PRERM'
#!/bin/sh
set -e
find "${DPKG_ROOT:-}/usr/lib/stoker" -name __pycache__ -prune -exec rm -rf {} +
PRERM
(cd "$stage" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"
chmod -R u=rwX,go=rX "$stage"
chmod 755 "$stage/DEBIAN/prerm"
find "$stage" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
mkdir -p "$packages"
deb=$packages/stoker_${version}_$architecture.deb
dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$stage" "$deb" >/dev/null
echo "$deb"
