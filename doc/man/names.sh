#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Prints the public names of the library, one a line: routines, macros, constants and types of the headers in a folder.
# The twins that begin with pshmem_ are left out, and so is what its name marks as internal (SHMEMI_, a final underscore).
#
# Usage: CC=cc names.sh FOLDER

set -eu
headers=$1
public='#include <shmemx_device.h>
#include <shmemx_annotate.h>'
system='#include <stddef.h>
#include <stdint.h>'
preprocess() { ${CC:-cc} -std=gnu11 -DSHMEMX_CRAY_NAMES -E -I"$headers" "$@" -; }

# The declarations, after the macros have been replaced. What stands before a parenthesis is a routine.
declared() {
    preprocess -P -DSHMEMI_WITHOUT_GENERIC <<<"$public" | awk '
        {
            line = $0
            while (match(line, /[A-Za-z_][A-Za-z_0-9]* *\(?/)) {
                word = substr(line, RSTART, RLENGTH)
                line = substr(line, RSTART + RLENGTH)
                routine = sub(/ *\($/, "", word)
                sub(/ +$/, "", word)
                if (routine ? word !~ /^(__|_[A-Z]|sizeof)/ : word ~ /^(shmemx?_[a-z0-9_]+_t|(SHMEMX?|OSHM)_[A-Z0-9_]+)$/)
                    seen[word] = 1
            }
        }
        END {
            for (word in seen)
                if (!(word ~ /^p/ && substr(word, 2) in seen))
                    print word
        }'
}

# What kernels call: templates of C++, as they are for NVRTC, which has no headers of the system; and those of the host.
for_kernels() {
    {
        preprocess -P -D__CUDACC_RTC__ -D__cplusplus=201103L <<<'#include <shmemx_device.h>'
        grep -hE '^(static|template) .*shmemx_device_[a-z_]+\(' "$headers"/mapshmem/device_*.h
    } | grep -oE 'shmemx_device_([a-z_]+ *\(|[a-z]+_t\b)' | tr -d ' ('
}

# The macros that the system headers do not have.
macros() { preprocess -dM | awk '$1 == "#define" { sub(/\(.*/, "", $2); print $2 }' | sort -u; }
defined() { comm -13 <(macros <<<"$system") <(macros <<<"$public"); }

{ declared; for_kernels; defined; } | grep -Ev '^SHMEMI_|_H$|_$|^SHMEMX_PLACES_' | sort -u
