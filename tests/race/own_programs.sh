#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# own_programs.sh [PATTERN] - build the project's own programs with oshcc --race, run them, and count what is reported
#
# It runs in the folder of a build. PATTERN chooses among the programs of tests/api (tests/api/NAME), the examples
# (examples/NAME) and the applications (apps/NAME). Each runs with 2 and with 3 PEs, on one node and with each PE a node. A
# line for each run says how it ended, with the reports if there are any; the last line how many runs were right and how
# many reports there were that are not on purpose. The exit status is 0 when all were right and there were none.
#
# WORK=FOLDER keeps the programs there and builds only those that are not there yet.

set -u
unset MAKEFLAGS MAKEOVERRIDES # of a make that runs this as a test
source=$(cd "$(dirname "$0")/../.." && pwd)
pattern=${1:-*}
build=$PWD
work=${WORK:-}
[ -n "$work" ] || { work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT; }
export MAPSHMEM_INCLUDEDIR=$source/src/shmem MAPSHMEM_LIBDIR=$build/.libs
export POCL_MAX_PTHREAD_COUNT=${POCL_MAX_PTHREAD_COUNT:-1}
right=0 wrong=0 skipped=0 intended=0 reports=0

# on_purpose NAME: why a program has races, which are real; or why its order cannot be seen
on_purpose() {
    case $1 in
        */coll_promises*) echo 'threads look at the dest of collectives that are under way' ;;
        */ordering*) echo 'polls data by atomic loads, to see that fences hold' ;;
        */whole_words*) echo 'looks at words that are put, to see that none is half there' ;;
        */map_asleep* | */map_opencl* | */map_small* | */bursts*) echo 'polls outside of the library, to see that data come' ;;
    esac
}

# made VARIABLE: its value in the makefile of this build; nothing if there is none
# shellcheck disable=SC2016 # make's own
made() { printf 'include Makefile\nshow_it:\n\t@echo $(%s)\n' "$1" | make -s --no-print-directory -f - show_it; }

# sources VARIABLE: the C and C++ files that it lists
sources() { made "$1" | tr ' ' '\n' | grep -E '\.(c|cc)$' | sed "s|^|$source/|"; }

read -r -a options <<<"$(made CUDA_CPPFLAGS)"
options+=(-O1 -pthread -fopenmp "-I$source/src" "-I$source" -Wno-deprecated-declarations
    "-DMAPSHMEM_VERSION=\"$(made PACKAGE_VERSION)\"")

# make_shared: what the programs share
make_shared() {
    local -a files
    [ ! -e "$work/shared.a" ] || return 0
    mapfile -t files < <(sources libsupport_la_SOURCES; sources tests_libcheck_a_SOURCES)
    mkdir -p "$work/shared"
    (cd "$work/shared" && "$build/oshcc" --race "${options[@]}" -c "${files[@]}") &&
        ar rcs "$work/shared.a" "$work"/shared/*.o
}

# build_one PROGRAM FILE...: of tests/api or an application
build_one() {
    local program=$work/$1 compiler=$build/oshcc
    [[ $2 != *.cc ]] || compiler=$build/oshc++
    [ ! -x "$program" ] || return 0
    mkdir -p "${program%/*}"
    "$compiler" --race "${options[@]}" "-I$source/$1" "-I$build/$1" "${@:2}" -o "$program" "$work/shared.a" \
        -Wl,--no-as-needed -lOpenCL -lpng16 -ldl >"$work/log" 2>&1
}

# judge NAME COMMAND...: run it
judge() {
    local found status
    timeout -k 10 300 "${@:2}" >"$work/log" 2>&1 </dev/null
    status=$?
    found=$(grep -c '^MapSHMEM race:.* from ' "$work/log")
    if [ $status = 66 ] && [ -n "$(on_purpose "$1")" ]; then
        intended=$((intended + 1)) && echo "on purpose $1: $found reports: $(on_purpose "$1")"
        return
    fi
    reports=$((reports + found))
    case $status in
        0) right=$((right + 1)) && echo "right $1" ;;
        77) skipped=$((skipped + 1)) && echo "skipped $1: $(tail -n 1 "$work/log")" ;;
        *) wrong=$((wrong + 1)) && echo "wrong $1: status $status, $found reports" && sed 's/^/    /' "$work/log" ;;
    esac
}

# judge_all NAME PROGRAM ARGUMENTS...: with 2 and 3 PEs, on one node and on as many
judge_all() {
    local n
    for n in 2 3; do
        judge "$1, $n PEs" "$build/oshrun" -n "$n" "${@:2}"
        judge "$1, $n nodes" env SHMEM_NODE_SIZE=1 "$build/oshrun" -n "$n" "${@:2}"
    done
}

# try NAME FILES ARGUMENTS...: build it of these files and run it, if it is chosen
try() {
    local -a files
    # shellcheck disable=SC2254 # a pattern
    case $1 in $pattern) ;; *) return ;; esac
    mapfile -t files <<<"$2"
    if build_one "$1" "${files[@]}"; then
        judge_all "$1${3:+ ${*:3}}" "$work/$1" "${@:3}"
    else
        wrong=$((wrong + 1)) && echo "wrong $1: it is not built" && sed 's/^/    /' "$work/log"
    fi
}

make_shared || exit 2
for name in $(made api_programs); do
    listed=$(sources "${name//\//_}_SOURCES")
    try "$name" "${listed:-$source/$name.c}"
done
for name in hello ring halo list first_opencl ring_opencl halo_opencl; do
    try "examples/$name" "$source/examples/$name.c"
done
try examples/halo_cxx "$source/examples/halo.cc"
for variant in naive mapped strided overlapped; do
    try apps/stencil2d "$(sources stencil2d_SOURCES)" --variant "$variant" --size 96x96 --iterations 5 --verify
done
try apps/stencil3d "$(sources stencil3d_SOURCES)" --size 24x24x24 --iterations 5 --verify
for variant in naive mapped atomic grid; do
    try apps/bfs "$(sources bfs_SOURCES)" --variant "$variant" --scale 10 --roots 2 --verify
done
echo "own_programs: $right right, $wrong wrong, $intended with races on purpose, $skipped skipped, $reports other reports"
[ "$wrong" -eq 0 ] && [ "$reports" -eq 0 ]
