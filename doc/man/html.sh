#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Makes the reference in HTML from the manual pages: a page for each, and an index by family and by name.
#
# Usage: html.sh OUTPUT_FOLDER LIST_OF_LINKS PAGE...
#
# LIST_OF_LINKS is what links.sh prints. Needs mandoc.

set -eu
out=$1
links=$2
shift 2
here=$(dirname -- "${BASH_SOURCE[0]}")
mkdir -p "$out"
cp "$here/mapshmem.css" "$out"

# A reference to a name that is a link to a page becomes one to that page; a line leads back to the index.
finish_page() {
    awk '
        NR == FNR { page_of[$1 ".html"] = $2 ".html"; next }
        {
            done = ""
            while (match($0, /href="[^"#]*"/)) {
                target = substr($0, RSTART + 6, RLENGTH - 7)
                done = done substr($0, 1, RSTART + 5) (target in page_of ? page_of[target] : target) "\""
                $0 = substr($0, RSTART + RLENGTH)
            }
            print done $0
        }
        /^<body>$/ { print "<nav><a href=\"index.html\">MapSHMEM: all pages</a></nav>" }' "$links" -
}

for page; do
    mandoc -T html -O man=%N.%S.html,style=mapshmem.css "$page" | finish_page >"$out/${page##*/}.html"
done

# list SECTION TITLE: the pages of a section with what they are about
list() {
    local page base
    echo "<h2>$2</h2>"
    echo "<dl>"
    for page in "${pages[@]}"; do
        [[ $page == *.$1 ]] || continue
        base=${page##*/}
        awk -v file="$base.html" -v name="${base%.*}" '
            $1 == ".Nd" {
                sub(/^.Nd /, "")
                printf "<dt><a href=\"%s\">%s</a></dt><dd>%s</dd>\n", file, name, $0
            }' "$page"
    done
    echo "</dl>"
}

# names: each name as a link to its page, under its first letter behind the common prefixes
names() {
    echo "<h2 id=\"names\">All names</h2>"
    { cat "$links"; printf '%s\n' "${pages[@]##*/}" | awk '{ print $1, $1 }'; } | awk '
        {
            name = $1
            sub(/\.[0-9]$/, "", name)
            key = name
            sub(/^_?(shmemx?_|SHMEMX?_)(ctx_)?/, "", key)
            print toupper(substr(key, 1, 1)), name, $2
        }' | sort | awk '
        $1 != letter { printf "%s<h3>%s</h3>\n<p class=\"names\">\n", letter == "" ? "" : "</p>\n", $1; letter = $1 }
        { printf "<a href=\"%s.html\">%s</a>\n", $3, $2 }
        END { print "</p>" }'
}

mapfile -t pages < <(printf '%s\n' "$@" | LC_ALL=C sort -f)
{
    cat <<'HEAD'
<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8"/>
  <meta name="viewport" content="width=device-width, initial-scale=1.0"/>
  <link rel="stylesheet" href="mapshmem.css" type="text/css" media="all"/>
  <title>MapSHMEM: reference</title>
</head>
<body>
<h1>MapSHMEM: reference</h1>
<p>The manual pages of the library. Begin with <a href="shmem.7.html">shmem</a>; or look for one of <a
href="#names">all names</a>.</p>
HEAD
    list 7 "Overviews"
    list 3 "Routines, by family"
    list 1 "Commands"
    names
    echo "</body>"
    echo "</html>"
} >"$out/index.html"
