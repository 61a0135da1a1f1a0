# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# What bench-host and bench-start share: the libraries, their launchers, medians. Sourced. The script that does so sets
# top, prefix, openmpi, peer_prefixes, wrap, runs and limit; its function `compile CC FOLDER` makes a peer's programs.

# shellcheck disable=SC2154 # set by the script

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

die() { echo "${0##*/}: $*" >&2; exit 1; }
usage() { sed -n '/^# Usage/,/^[^#]*$/s/^# \{0,1\}//p' "$0"; }

scratch=$(mktemp -d "${TMPDIR:-/tmp}/mapshmem-bench.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT

# ---- libraries: parallel arrays, MapSHMEM first --------------------------------------------------------------------

names=() programs=() launchers=() # folders of programs; openmpi, or the path of an oshrun

find_mapshmem() {
    local dir
    for dir in ${prefix:+"$prefix"} "$top/build/prefix" "$top/build"; do
        if [ -x "$dir/bin/oshrun" ]; then dir=$dir/bin; fi
        if [ ! -x "$dir/oshrun" ] || [ ! -x "$dir/oshinfo" ]; then continue; fi
        dir=$(cd "$dir" && pwd)
        names=(MapSHMEM) programs=("$dir") launchers=("$dir/oshrun")
        return
    done
    die "no oshrun and oshinfo found: give --prefix DIR"
}

add_peer() { # NAME CC LAUNCHER
    local folder=$scratch/${#names[@]}
    compile "$2" "$folder"
    names+=("$1") programs+=("$folder") launchers+=("$3")
}

find_peers() {
    local dir cc version
    for cc in $(type -ap oshcc); do
        [ "$openmpi" = yes ] || break
        version=$("$cc" --showme:version 2>/dev/null | sed -n 's/.*Open SHMEM \([0-9.]*\) .*/\1/p')
        [ -n "$version" ] || continue
        add_peer "Open MPI $version" "$cc" openmpi
        break
    done
    for dir in ${peer_prefixes[@]+"${peer_prefixes[@]}"}; do
        if [ ! -x "$dir/bin/oshcc" ] || [ ! -x "$dir/bin/oshrun" ]; then die "$dir: no bin/oshcc and bin/oshrun"; fi
        add_peer "$(basename "$dir")" "$dir/bin/oshcc" "$dir/bin/oshrun"
    done
}

# launch LIBRARY PES PROGRAM ARGUMENTS...: PROGRAM lies in the library's folder
launch() {
    local library=$1 pes=$2 program=${programs[$1]}/$3 bind=core; shift 3
    [ "$pes" -le "$(nproc)" ] || bind=none
    if [ "${launchers[library]}" = openmpi ]; then
        # its finalize crashes in the component that is left out
        timeout -k 5 "$limit" mpirun --oversubscribe --bind-to $bind --mca osc ^rdma -np "$pes" \
            ${wrap[@]+"${wrap[@]}"} "$program" "$@"
    elif [ "$library" = 0 ]; then
        timeout -k 5 "$limit" "${launchers[0]}" -n "$pes" ${wrap[@]+"${wrap[@]}"} "$program" "$@"
    else
        timeout -k 5 "$limit" "${launchers[library]}" -np "$pes" ${wrap[@]+"${wrap[@]}"} "$program" "$@"
    fi </dev/null 2>>"$scratch/errors"
}

# ---- figures ---------------------------------------------------------------------------------------------------

# summary low|high VALUES...: best and median
summary() {
    local order=-g
    [ "$1" = high ] && order=-gr
    shift
    [ $# -gt 0 ] || { echo "- -"; return; }
    printf '%s\n' "$@" | sort $order | awk '{ v[NR] = $1 } END { print v[1], v[int((NR + 1) / 2)] }'
}

# A tarball may lie within somebody else's repository.
print_version() {
    if [ -e "$top/.git" ]; then
        echo "commit $(git -C "$top" rev-parse --short HEAD)"
    else
        echo "$(basename "$top") from a tarball"
    fi
}

print_machine() {
    echo "# $(date +%F), $(uname -r), $(awk -F': *' '/model name/ { print $2; exit }' /proc/cpuinfo), $(nproc) cores," \
        "load $(cut -d' ' -f1-3 /proc/loadavg)"
    echo "# $1, $(print_version)," \
        "$runs runs of each, in turns"
}

show_errors() {
    [ -s "$scratch/errors" ] || return 0
    echo "# messages of the programs (last lines):" >&2
    tail -n 5 "$scratch/errors" | cut -c1-160 >&2
}
