# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What the tests of --race have in common: how programs are built, and how it is judged what is reported of them.

: "${OSHRUN:?}" "${OSHCC:?}" "${CC:?}" "${tap_dir:?}" "${tap_output:?}"
[[ ${CFLAGS:-} != *-fsanitize* ]] || skip_all "built with a sanitizer, beside which no program can have the hooks of -fsanitize=thread"
srcdir=$(cd "${srcdir:-.}" && pwd)
reported='^MapSHMEM race:.* from '

# build NAME [OPTION]...: NAME of its source; skips all where a tool is missing
build() {
    run 120 "$OSHCC" "${@:2}" -fopenmp -O1 "$srcdir/tests/race/$1.c" -o "$tap_dir/$1"
    [ $status -eq 0 ]
}

# tells_lines SOURCE PROGRAM: whether each line in which an access of the program stands is reported
tells_lines() {
    local line lines
    lines=$(grep -nE "(//|!) (.* )?$2( |\$)" "$srcdir/tests/race/$1" | cut -d: -f1)
    [ -n "$lines" ] || return 1
    for line in $lines; do grep -q "$1:$line\$" "$tap_output" || return 1; done
}

# finds SOURCE PROGRAM COMMAND...: the command, a program with a race, of so many PEs
pes=3
finds() {
    run 60 "$OSHRUN" -n $pes "${@:3}"
    check "$2 of $1: a race, status 66" [ "$status" -eq 66 ]
    if grep -q 'has no libdw' "$tap_output"; then
        skip "$2 of $1: its lines" "built without libdw"
    else
        check "$2 of $1: its lines" tells_lines "$1" "$2"
    fi
}

# finds_none NAME COMMAND...: the command, a program without
finds_none() {
    run 60 "$OSHRUN" -n $pes "${@:2}"
    check "$1: no race" [ "$status" -eq 0 ]
    check "$1: no report" [ "$(grep -c 'MapSHMEM race' "$tap_output")" -eq 0 ]
}
