#!/bin/sh
# Shows what a program can see of the six rules for English (CONTRIBUTING.md) in comments and pages.
#     scripts/prose.sh            fails if a file of the checkout breaks one
#     scripts/prose.sh FILE...    looks at these files only
set -eu
if [ $# -eq 0 ]; then
    cd "$(dirname "$0")/.."
    if ! git rev-parse --git-dir >/dev/null 2>&1; then
        echo "skipped: prose: no checkout of git" >&2
        exit 0
    fi
fi

files() {
    git ls-files '*.[ch]' '*.cu' '*.def' '*.py' '*.pyi' '*.sh' '*.mk' Makefile .ci/run '*.md' |
        grep -vxF docs/compatibility.md
}

# Prints one line for each offence: FILE:LINE: RULE: SENTENCE.
# shellcheck disable=SC2016  # of awk, not of the shell
offences='
function flush(    rest, one) {
    rest = text
    gsub(/`[^`]*`/, "CODE", rest)
    gsub(/"[^"]*"/, "QUOTE", rest)
    gsub(/[ \t]+/, " ", rest)
    sub(/^ /, "", rest)
    while (match(rest, /[.?!][)]?( |$)/)) {
        one = substr(rest, 1, RSTART)
        rest = substr(rest, RSTART + RLENGTH)
        sentence(one)
    }
    if (rest ~ /[a-z]/) sentence(rest)
    text = ""
}
function sentence(one,    words, n, plain) {
    if (is_first) head(one)
    is_first = 0
    n = split(one, words, " ")
    if (n > 35) offend("more than 35 words", one)
    if (one ~ /^(What|Who|Whoever|Whose|Whether|Of|The same) /) offend("a beginning that names nothing", one)
    plain = " " tolower(one) " "
    gsub(/[^a-z]+/, " ", plain)
    gsub(/ (users?|people|person|owners?|authors?|maintainers?|administrators?|newcomers?) who /, " ", plain)
    gsub(/ /, "  ", plain)
    count(plain, " (who|whom|whoever) ", "who", one)
    count(plain, " (nobody|somebody|someone)( s)? ", "nobody, somebody", one)
    count(plain, " (he|him|his|himself) ", "he", one)
    count(plain, " (tell|tells|told|telling) ", "tell, told", one)
    if (plain ~ / the  same  of /) offend("the same of", one)
}
# A file name in the first sentence of the file says nothing.
function head(one,    name, stem, words) {
    name = FILENAME
    sub(/.*\//, "", name)
    stem = name
    sub(/\..*/, "", stem)
    if (name ~ /\./ && name !~ /\.md$/ && (index(one, name) || (split(one, words, " ") <= 3 && index(tolower(one), stem))))
        offend("a head that repeats the name", one)
}
function count(plain, pattern, rule, one) {
    while (match(plain, pattern)) {
        offend(rule, one)
        plain = substr(plain, RSTART + RLENGTH - 1)
    }
}
function offend(rule, one) { print FILENAME ":" line ": " rule ": " one }
# Adds a line of prose. Columns, and rules between sections, are none.
function add(words) {
    if (words ~ /[^ .:!?]   *[^ ]/ || words ~ /^ *----/ || words ~ /^ *[|#]/ || words ~ /^    / || words !~ /[A-Za-z]/) {
        flush()
        return
    }
    if (words ~ /^ *([-*]|[0-9]+\.) /) {
        flush()
        sub(/^ *([-*]|[0-9]+\.) /, "", words)
    }
    if (text == "") line = FNR
    text = text " " words
}
FNR == 1 {
    if (NR > 1) flush()
    is_first = 1
    inside = ""
    kind = FILENAME ~ /\.(c|h|cu|def)$/ ? "c" : FILENAME ~ /\.pyi?$/ ? "py" : FILENAME ~ /\.md$/ ? "md" : "sh"
    if (/^#!/) next
}
kind == "c" {
    rest = $0
    if (inside == "" && (begins = index(rest, "/*"))) {
        if (rest !~ /^ *\/\*/) flush()
        rest = substr(rest, begins + 2)
        inside = "comment"
    }
    if (inside == "") next
    ends = match(rest, /\*\//)
    if (ends) {
        rest = substr(rest, 1, RSTART - 1)
        inside = ""
    }
    sub(/^ *\*( |$)/, "", rest)
    add(rest)
    if (ends) flush()
    next
}
kind == "md" {
    if (/^ *(```|~~~)/) {
        flush()
        inside = inside == "" ? "block" : ""
    } else if (inside == "")
        add($0)
    next
}
kind == "py" {
    if (inside == "" && /^ *[rRbBfF]?"""/) {
        flush()
        sub(/^ *[rRbBfF]?"""/, "")
        inside = "text"
        if (match($0, /"""/)) {
            add(substr($0, 1, RSTART - 1))
            flush()
            inside = ""
            next
        }
    }
    # A string that is code: its end, at the beginning of a line, begins no docstring.
    if (inside == "string" || (inside == "" && !/^ *#/ && /"""/ && gsub(/"""/, "&") % 2 == 1)) {
        flush()
        if (inside == "" || /"""/) inside = inside == "" ? "string" : ""
        next
    }
    if (inside == "text") {
        ends = match($0, /"""/)
        rest = ends ? substr($0, 1, RSTART - 1) : $0
        sub(/^ +/, "", rest)
        add(rest)
        if (ends) {
            flush()
            inside = ""
        }
        next
    }
}
/^ *#/ { sub(/^ *# ?/, ""); add($0); next }
/[^"]  # / && kind == "py" { flush(); sub(/.*  # /, ""); add($0); flush(); next }
{ flush() }
END { flush() }
'

if [ $# -eq 0 ]; then
    found=$(files | xargs awk "$offences")
else
    found=$(awk "$offences" "$@")
fi
[ -z "$found" ] || { printf '%s\n' "$found" >&2; exit 1; }
