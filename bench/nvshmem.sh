#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# nvshmem.sh - build and run nvshmem_peer, which measures NVSHMEM's host API, and nvshmem_kernels, which measures its device
# API, where NVSHMEM is installed.
#
# Usage: nvshmem.sh build DIR                    makes DIR/nvshmem_peer; the last line is NVSHMEM's version
#        nvshmem.sh run DIR [MAX [SECONDS]]      prints "what,size,microseconds" for sizes up to MAX bytes (1 GiB),
#                                                in at most SECONDS (40)
#        nvshmem.sh run-collectives DIR [MAX]    prints the same of its collectives, of NVSHMEM_PEERS processes (2)
#        nvshmem.sh build-kernels DIR            makes DIR/nvshmem_kernels
#        nvshmem.sh run-kernels DIR              prints the tables of kernels.cu
#        nvshmem.sh home DIR                     prints where NVSHMEM is
#
# NVSHMEM is searched for in NVSHMEM_HOME, in Python's packages (nvidia.nvshmem), and in /usr/local/nvshmem.
# Exit status: 0; 1 with the reason in the last line of standard error.

set -u

source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

die() { echo "nvshmem.sh: $*" >&2; exit 1; }

# nvshmem_home: the folder with include and lib
nvshmem_home() {
    local dir
    for dir in "${NVSHMEM_HOME:-}" "$(python3 -c 'import importlib.util as u
print(list(u.find_spec("nvidia.nvshmem").submodule_search_locations)[0])' 2>/dev/null)" /usr/local/nvshmem; do
        if [ -n "$dir" ] && [ -e "$dir/include/nvshmem_host.h" ]; then echo "$dir"; return; fi
    done
    return 1
}

host_library() { # HOME
    find "$1/lib" -name 'libnvshmem_host.so*' | sort | head -n 1
}

build() { # HOME DIR
    local home=$1 cuda library
    cuda=$(dirname -- "$(dirname -- "$(readlink -f -- "$(type -P nvcc || echo /usr/local/cuda/bin/nvcc)")")")
    library=$(host_library "$home")
    [ -n "$library" ] || die "$home/lib: no libnvshmem_host.so"
    "${CXX:-g++}" -std=c++17 -O2 -isystem "$home/include" -isystem "$cuda/include" -o "$2/nvshmem_peer" \
        "$source/nvshmem_peer.cc" "$library" -L"$cuda/lib64" -lcudart -Wl,-rpath,"$home/lib" \
        -Wl,-rpath,"$cuda/lib64" || die "$home: nvshmem_peer does not build"
    echo "$home, $(basename "$library")"
    sed -n 's/^#define NVSHMEM_VENDOR_\(MAJOR\|MINOR\|PATCH\)_VERSION *\([0-9]*\).*/\2/p' \
        "$home/include/non_abi/nvshmem_version.h" | paste -sd.
}

build_kernels() { # HOME DIR
    local library
    library=$(host_library "$1")
    nvcc -rdc=true -std=c++17 -O2 -arch=native -I"$1/include" -o "$2/nvshmem_kernels" "$source/nvshmem_kernels.cu" \
        -Xlinker "$library" -L"$1/lib" -lnvshmem_device -lcuda || die "$1: nvshmem_kernels does not build"
}

# run_both HOME DIR SECONDS PROGRAM [ARGUMENTS] [-- SETTINGS]: both processes, or NVSHMEM_PEERS; NVLink multicast is of no use here, nor
# allowed everywhere
run_both() {
    local home=$1 dir=$2 seconds=$3 program=$4 rank pids=() arguments=() status=0
    shift 4
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        arguments+=("$1")
        shift
    done
    [ $# -eq 0 ] || shift
    rm -f "$dir"/nvshmem.id*
    for ((rank = 0; rank < ${NVSHMEM_PEERS:-2}; rank++)); do
        env NVSHMEM_DISABLE_NVLS=1 NVSHMEM_REMOTE_TRANSPORT=none NVSHMEM_SYMMETRIC_SIZE="${NVSHMEM_SYMMETRIC_SIZE:-2G}" \
            LD_LIBRARY_PATH="$home/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@" \
            timeout -k 5 "$seconds" "$dir/$program" $rank "$dir/nvshmem.id" "${arguments[@]}" \
            >"$dir/nvshmem-$rank.csv" </dev/null &
        pids+=($!)
    done
    # one that fails leaves the other waiting
    for rank in "${pids[@]}"; do
        wait -n && continue
        status=$?
        kill "${pids[@]}" 2>/dev/null
    done
    wait
    # the figures, whether or not the processes ended in good order
    grep -E '^[^,]+,[0-9]+,[0-9.e+-]+$|^#|^ *[0-9]+( +[0-9.]+)+$' "$dir/nvshmem-0.csv" || return $((status ? status : 1))
}

# run_somehow HOME DIR SECONDS PROGRAM [ARGUMENTS]: by the loopback interface if there is no other way
run_somehow() {
    run_both "$@" || run_both "$@" -- NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME=lo || die "$1: $4 does not run"
}

case ${1:-} in
    -h | --help) sed -n '/^# Usage/,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
esac
if [ $# -lt 2 ] || [ $# -gt 4 ] || [ ! -d "$2" ]; then die "build or run, and a folder (see --help)"; fi
home=$(nvshmem_home) || die "NVSHMEM is not installed here"
case $1 in
    build) build "$home" "$2" ;;
    run)
        run_somehow "$home" "$2" "${4:-40}" nvshmem_peer "${3:-$((1 << 30))}"
        ;;
    run-collectives) run_somehow "$home" "$2" 40 nvshmem_peer "${3:-$((1 << 28))}" collectives ;;
    build-kernels) build_kernels "$home" "$2" ;;
    home) echo "$home" ;;
    run-kernels) run_somehow "$home" "$2" 40 nvshmem_kernels ;;
    *) die "unknown step '$1' (see --help)" ;;
esac
