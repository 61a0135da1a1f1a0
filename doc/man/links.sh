#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Prints which page has which name, one pair a line: "shmem_double_put.3 shmem_put.3". Each further name of a page
# becomes a link to it when the pages are installed.
#
# A page of section 1 has the names in its section NAME. A page of section 3 has the public names of the headers that its
# synopsis stands for, and the constants and types that it lists (.It Dv, .It Vt). In a synopsis TYPENAME is a type in
# the middle of a name, SIZE a number of bits, [ctx_] may be left out, and {put,get} is a choice.
#
# Usage: CC=cc links.sh [--unclaimed] FOLDER_OF_HEADERS PAGE...
# With --unclaimed it prints instead: names that no page has, pages' names that no header has, and names on two pages.

set -eu
unclaimed=0
[ "$1" != --unclaimed ] || { unclaimed=1; shift; }
headers=$1
shift
here=$(dirname -- "${BASH_SOURCE[0]}")

# The types and sizes come from the tables X(name, type, ...) of the headers.
tables=$(sed -nE 's/^ *X\(([a-z0-9]+),.*/\1/p' "$headers"/*.h | sort -u)
types=$(grep -v '^[0-9]' <<<"$tables" | paste -sd'|')
sizes=$(grep '^[0-9]' <<<"$tables" | paste -sd'|')

awk -v types="$types" -v sizes="$sizes" -v unclaimed=$unclaimed '
    # A name of a synopsis as a regular expression.
    function expression(text) {
        sub(/\\&$/, "", text)
        gsub(/TYPENAME/, "(" types ")", text)
        if (text ~ /^[a-z]/) gsub(/SIZE/, "(" sizes ")", text)
        gsub(/\[ctx_\]/, "(ctx_)?", text)
        while (match(text, /{[^}]*}/)) {
            choice = substr(text, RSTART + 1, RLENGTH - 2)
            gsub(/,/, "|", choice)
            text = substr(text, 1, RSTART - 1) "(" choice ")" substr(text, RSTART + RLENGTH)
        }
        return "^" text "$"
    }
    function claim(text,    expr, name, found) {
        expr = expression(text)
        for (name in names) {
            if (name !~ expr)
                continue
            found = 1
            if (page_of[name] != "" && page_of[name] != page && unclaimed)
                print name " is on " page_of[name] " and on " page
            page_of[name] = page
        }
        if (!found && unclaimed)
            print page ": no such name: " text
    }
    FILENAME == "-" { names[$1] = 1; next }
    FNR == 1 {
        page = FILENAME
        sub(/.*\//, "", page)
        section = page
        sub(/.*\./, "", section)
        base = substr(page, 1, length(page) - 2)
    }
    $1 == ".Sh" { heading = $2 }
    heading == "NAME" && $1 == ".Nm" && section != 3 && $2 != base && !unclaimed { print $2 "." section, page }
    section == 3 && $1 == ".Fo" && heading == "SYNOPSIS" { claim($2) }
    section == 3 && $1 == ".It" && ($2 == "Dv" || $2 == "Vt") { claim($3) }
    END {
        for (name in names) {
            if (unclaimed && page_of[name] == "")
                print "no page has " name
            else if (!unclaimed && page_of[name] != "" && name ".3" != page_of[name])
                print name ".3", page_of[name]
        }
    }' - "$@" < <("$here/names.sh" "$headers") | sort
