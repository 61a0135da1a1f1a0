#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# rmaracebench.sh [--queues] DIR [PATTERN] - run the OpenSHMEM programs of RMARaceBench (RWTH Aachen University) under --race
#
# DIR is a copy of the suite; PATTERN chooses programs by name. --queues: their transfers are operations on OpenCL queues. The end of a program's name says whether it has a race: yes
# or no; the number of PEs stands in the program. A line for each program says what was found, the last one how many were
# judged right, and how many races were reported that are none. The exit status is 0 when at least 118 of 122 were right and
# nothing false was reported.
#
# OSHCC and OSHRUN name the commands (oshcc, oshrun), CFLAGS more options for the compiler.

set -u
form=()
if [ "${1:-}" = --queues ]; then
    form=(-w -include "$(dirname "$0")/on_queues.h" '-Wl,--no-as-needed' -lOpenCL)
    shift
fi
suite=${1:?usage: rmaracebench.sh [--queues] DIR [PATTERN]}/SHMEM
pattern=${2:-*}
oshcc=${OSHCC:-oshcc} oshrun=${OSHRUN:-oshrun}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
right=0 false_reports=0 n=0

# verdict PROGRAM: yes, no, or what went wrong
verdict() {
    local npes
    npes=$(sed -n 's/.*"NPROCS": *\([0-9]*\).*/\1/p' "$1")
    # shellcheck disable=SC2086
    "$oshcc" --race -fopenmp ${CFLAGS:-} "${form[@]}" "$1" -o "$work/program" >"$work/out" 2>&1 || { echo "does not compile"; return; }
    timeout -k 5 60 "$oshrun" -n "$npes" "$work/program" >"$work/out" 2>&1
    case $? in
        0) echo no ;;
        66) echo yes ;;
        124 | 137) echo "does not end" ;;
        *) echo "fails" ;;
    esac
}

mapfile -t programs < <(find "$suite" -name "$pattern.c" | sort)
[ ${#programs[@]} -gt 0 ] || { echo "no program $pattern in $suite" >&2; exit 2; }
for program in "${programs[@]}"; do
    name=$(basename "$program" .c)
    expected=${name##*-}
    found=$(verdict "$program")
    n=$((n + 1))
    if [ "$found" = "$expected" ]; then
        right=$((right + 1))
        echo "right $name: $found"
    else
        echo "wrong $name: $found"
        [ "$found" = no ] || sed 's/^/    /' "$work/out"
    fi
    [ "$found" != yes ] || [ "$expected" != no ] || false_reports=$((false_reports + 1))
done
echo "rmaracebench: $right of $n right, $false_reports false reports"
[ "$false_reports" -eq 0 ] && [ "$right" -ge $((n - 4)) ]
