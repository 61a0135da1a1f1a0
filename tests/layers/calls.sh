#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Who calls whom, as the linker sees it: a line "FOLDER FOLDER SYMBOL FILE FILE" for each symbol that an object file of
# one folder of src uses and one of another folder defines. Run in the build directory; $1: the source directory.
# Objects whose source is gone are left out, and so is what race defines, for others: it stands in front of the library
# and of the C library, whose names it has.

set -u
srcdir=$1

find src -name '*.o' -print0 | xargs -0 "${NM:-nm}" -A -g 2>/dev/null |
    while IFS=: read -r object symbol; do
        printf '%s %s\n' "$object" "$symbol"
    done |
    awk -v srcdir="$srcdir" '
        # The folder and the source of an object: src/a/b/.libs/NAME-c.o is made of src/a/b/c.*
        function find_source(object,    parts, n, stem, i) {
            if (object in source)
                return source[object]
            n = split(object, parts, "/")
            stem = parts[n]
            sub(/\.o$/, "", stem); sub(/^.*-/, "", stem)
            folder[object] = ""
            for (i = 2; i < n; i++)
                if (parts[i] != ".libs")
                    folder[object] = folder[object] (folder[object] ? "/" : "") parts[i]
            source[object] = ""
            for (i = 1; i <= split(".c .f90 .f90.in", endings, " "); i++)
                if ((getline line < (srcdir "/src/" folder[object] "/" stem endings[i])) > 0) {
                    close(srcdir "/src/" folder[object] "/" stem endings[i])
                    source[object] = folder[object] "/" stem endings[i]
                    break
                }
            return source[object]
        }
        !find_source($1) { next }
        NF == 4 && ($4 in defined) && folder[$1] ~ /^race/ { next }
        NF == 4 { defined[$4] = $1; defines[$4, folder[$1]] = 1 }
        NF == 3 && $2 == "U" { n_uses++; user[n_uses] = $1; used[n_uses] = $3 }
        END {
            for (i = 1; i <= n_uses; i++)
                if (used[i] in defined && (folder[defined[used[i]]] !~ /^race/ || folder[user[i]] ~ /^race/) && !((used[i], folder[user[i]]) in defines))
                    print folder[user[i]], folder[defined[used[i]]], used[i], source[user[i]], source[defined[used[i]]]
        }' | sort -u
