#!/bin/sh
# Checks the house's plan, scripts/folders.txt, against what the files include and import:
# - Each folder has a row, and includes only from the folders of its row, which are of rows above. It does include from
#   each folder that the row names.
# - A library's header is included only where the plan says so.
# - Each folder of the Python package imports only what its row says, never by the name `stoker`, which may be
#   a module of the program's.
# - There is no circle between units (x.c with x.h), nor between the modules of a folder of the Python package.
# - No folder has more than 20 .c files, or lacks README.md where there are more than 3 files.
# - No header name and no tag is there twice.
set -eu
cd "$(dirname "$0")/.."
folders='base cache preload cli decode store ring gpu wrappers'
package=wrappers/python/stoker
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# shellcheck disable=SC2086  # folders are words
includes() {
    find $folders -name '*.[ch]' -o -name '*.cu' -o -name README.md | sed 's/^/file /'
    grep -rE '^(struct|union|enum) [a-z0-9_]+ \{' $folders --include='*.[ch]' |
        sed -E 's/^([^:]*):[a-z]+ ([a-z0-9_]+).*/tag \1 \2/'
    grep -rE '^#include [<"]' $folders --include='*.[ch]' --include='*.cu' |
        sed -nE 's/^([^:]*):#include "([^"]*)".*/ours \1 \2/p; s/^([^:]*):#include <([^>]*)>.*/library \1 \2/p'
}

imports() {
    find "$package" -mindepth 1 -maxdepth 1 -type d -name '_[!_]*' | sed 's/^/package /'
    grep -rnE '^ *(from|import) +(\.\.|_?stoker|(PIL|numpy|torch|torchvision)\b)|import_module\(' \
        "$package"/_*/ --include='*.py' | sed -E 's/^([^:]*:[0-9]+):/import \1 /' || true
    grep -rE '^ *from \.([a-z_]+)? import' "$package"/_*/ --include='*.py' |
        sed -E 's/^([^:]*)\.py: *from \.([a-z_]*) import ([^#]*).*/sibling \1 \2 \3/' || true
}

# Writes complaints to the standard output, and to EDGES the arrows between units.
# shellcheck disable=SC2016  # of awk, not of the shell
check='
function complain(text) { print "arrows: " text }
function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
function base(path) { sub(/.*\//, "", path); return path }
function unit(path) {
    if (path in facade) return path
    sub(/\.(c|h|cu|def)$/, "", path)
    return path
}
# Allows ROW to include from TARGET: a folder of a row above, or all below such a folder.
function allow(kind, row, target,    i, found) {
    if (target !~ /\/\*$/) {
        found = (kind, target) in rows
        may[kind, row, target] = 1
        if (kind == "folder") named[row, target] = 1
    } else {
        sub(/\/\*$/, "", target)
        for (i = 1; i <= count[kind]; i++)
            if (order[kind, i] == target || index(order[kind, i], target "/") == 1) {
                found = 1
                may[kind, row, order[kind, i]] = 1
            }
    }
    if (!found) complain("scripts/folders.txt:" FNR ": " row " names " target ", which is no row above it")
}
function row(kind,    name, libraries, words, n, i) {
    name = $0
    sub(/:.*/, "", name)
    if (match(name, / *\(.*\)$/)) {
        libraries = substr(name, RSTART, RLENGTH)
        name = substr(name, 1, RSTART - 1)
        gsub(/[()]/, "", libraries)
        n = split(libraries, words, " ")
        for (i = 1; i <= n; i++) uses[name, words[i]] = 1
    }
    sub(/^[^:]*:/, "")
    n = split($0, words, " ")
    for (i = 1; i <= n; i++) allow(kind, name, words[i])
    rows[kind, name] = 1
    order[kind, ++count[kind]] = name
}
FILENAME == "scripts/folders.txt" {
    sub(/#.*/, "")
    if (!NF) next
    if ($1 ~ /^\[/) { section = $1; next }
    if (section == "[folders]") row("folder")
    if (section == "[facades]") facade[$1] = 1
    if (section == "[libraries]") {
        sub(/:$/, "", $1)
        library[$1] = 1
        for (i = 2; i <= NF; i++) includer[$1, $i] = 1
    }
    if (section == "[python]") row("python")
    next
}
$1 == "file" {
    at = folder($2)
    if ($2 ~ /README/) { explained[at] = 1; next }
    files[at]++
    if (!(("folder", at) in rows) && !seen[at]++) complain("scripts/folders.txt has no row for " at)
    if ($2 ~ /\.c$/ && ++sources[at] == 21)
        complain(at " has more than 20 .c files")
    if ($2 ~ /\.h$/ && headers[base($2)]++)
        complain("the header name " base($2) " twice: " $2 ", " where[base($2)])
    where[base($2)] = $2
}
$1 == "ours" {
    from = folder($2)
    to = folder($3)
    used[from, to] = 1
    if (from != to && !(("folder", from, to) in may))
        complain($2 ": " from " may not include from " to)
    if (unit($2) != unit($3)) print unit($2), unit($3) >edges
}
$1 == "tag" {
    if ($3 in tags) complain("the tag " $3 " twice: " $2 ", " tags[$3])
    tags[$3] = $2
}
$1 == "library" && $3 in library && !(($3, $2) in includer) { complain($2 ": may not include <" $3 ">") }
$1 == "package" && !(("python", base($2)) in rows) { complain("scripts/folders.txt has no row for " $2) }
$1 == "import" {
    package = base(folder($2))
    line = $0
    sub(/^import [^ ]* */, "", line)
    if (match(line, /^(from|import) +(PIL|numpy|torch|torchvision)([. ]|$)/)) {
        split(line, words, /[ .]+/)
        if (!((package, words[2]) in uses)) complain($2 ": " package " may not import " words[2])
        next
    }
    names = line
    sub(/ *#.*/, "", names)
    if (names ~ /^from \.\. import /)
        sub(/^from \.\. import /, "", names)
    else if (names ~ /^from \.\.[a-z_]/ && match(names, /[a-z_]+/))
        names = first(substr(names, 8))
    else if (match(names, /import_module\("\.\.[a-z_]+/))
        names = first(substr(names, RSTART + 17))
    else
        names = "?"
    n = split(names, words, /, */)
    for (i = 1; i <= n; i++)
        if (!(("python", package, words[i]) in may)) complain($2 ": " package " may not have: " line)
}
END {
    for (at in files)
        if (files[at] > 3 && !(at in explained)) complain(at " has no README.md")
    for (pair in named)
        if (!(pair in used)) {
            split(pair, ends, SUBSEP)
            complain("scripts/folders.txt: " ends[1] " includes nothing from " ends[2] ": take it out of the row")
        }
}
$1 == "sibling" {
    names = $0
    sub(/^sibling [^ ]+ /, "", names)
    if (names ~ /^ /) n = split(names, words, /[, ]+/)
    else n = split(names, words, / .*/)
    for (i = 1; i <= n; i++)
        if (words[i] != "") print $2, folder($2) "/" words[i] >edges
}
function first(text) { match(text, /^[a-z_]+/); return substr(text, 1, RLENGTH) }
'

{
    includes
    imports
} | awk -v edges="$scratch/edges" "$check" scripts/folders.txt - >"$scratch/complaints"
if ! tsort "$scratch/edges" >/dev/null 2>"$scratch/circle"; then
    sed 's/.*contains a loop:$/arrows: a circle between units:/; s/^tsort: /    /' "$scratch/circle" >>"$scratch/complaints"
fi
cat "$scratch/complaints" >&2
[ ! -s "$scratch/complaints" ]
