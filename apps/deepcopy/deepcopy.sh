#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# deepcopy.sh - measure deep copies on this machine: writes a table, a CSV and a picture, and checks the goals.
#
# Usage: apps/deepcopy/deepcopy.sh [--prefix DIR] [--out DIR] [--device cuda|opencl] [--only RUN,...] [--limit S]
#                                  [--quick] [--scale F]
#
#   --prefix DIR    where MapSHMEM is installed, or its build directory (what is in PATH)
#   --out DIR       gets deepcopy.csv, deepcopy.svg and the output of each run (./deepcopy.out)
#   --device KIND   of memory (cuda)
#   --only RUN,...  own: to this PE's GPU; peer: to another PE; nodes: to another PE, each on a node of its own (all)
#   --limit S       seconds for everything (120)
#   --quick         few repetitions and small structures, to see that it works
#   --scale F       size of the UMT-like structure (1: about 2.2 GB)

set -u

source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
prefix='' out=deepcopy.out device=cuda limit=120 scale=1 quick=no only=own,peer,nodes

die() { echo "deepcopy.sh: $*" >&2; exit 1; }

while [ $# -gt 0 ]; do
    case $1 in
        --prefix | --out | --device | --limit | --scale | --only) [ $# -gt 1 ] || die "$1 needs a value" ;;
    esac
    case $1 in
        --prefix) prefix=$2; shift ;;
        --out) out=$2; shift ;;
        --device) device=$2; shift ;;
        --limit) limit=$2; shift ;;
        --scale) scale=$2; shift ;;
        --only) only=$2; shift ;;
        --quick) quick=yes ;;
        -h | --help) sed -n '/^# Usage/,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
        *) die "unknown option '$1' (see --help)" ;;
    esac
    shift
done
if [ -n "$prefix" ]; then
    if [ -d "$prefix/bin" ]; then PATH=$prefix/bin:$PATH; else PATH=$prefix:$PATH; fi
fi
for name in oshrun oshinfo deepcopy; do
    command -v $name >/dev/null || die "no $name in PATH: install MapSHMEM, or --prefix"
done
mkdir -p "$out" || die "cannot write $out"
rm -f "$out/deepcopy.csv"

heap=3G sizes=128,1K,1M seconds=0.2 nodes=()
if [ $quick = yes ]; then
    heap=32M sizes=128,1K seconds=0 nodes=(--nodes 100)
fi
failed=()

# measure NAME SECONDS PES SETTING ARGUMENTS...: one run, if it is asked for; its table is shown
measure() {
    local left=$((limit - SECONDS)) status
    [[ ,$only, = *,$1,* ]] || return 0
    if [ $left -lt 5 ]; then failed+=("$1: no time left"); return; fi
    env SHMEM_SYMMETRIC_SIZE=$heap "$4" timeout -k 5 $(($2 < left ? $2 : left)) oshrun -n "$3" \
        deepcopy -d "$device" -m "$sizes" --seconds $seconds --scale "$scale" ${nodes[@]+"${nodes[@]}"} \
        --csv "$out/deepcopy.csv" "${@:5}" >"$out/$1.log" 2>&1 </dev/null
    status=$?
    cat "$out/$1.log"
    [ $status -eq 0 ] || failed+=("$1: status $status")
    return $status
}

echo "# $(date +%F), $(oshinfo --version | head -n 1), $(uname -r), $(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | sed 's/^/# GPU: /'
measure own 75 1 SHMEM_GPU_ROUTE=auto --own --goals
[ $? -ne 77 ] || exit 77
measure peer 40 2 SHMEM_GPU_ROUTE=auto --peer -s list,umt
sizes=128,1K
measure nodes 30 2 SHMEM_NODE_SIZE=1 --peer -s list,tree
if [[ ,$only, = *,own,* ]]; then # what the picture shows
    "$source/../../bench/plot-deep" "$out/deepcopy.csv" "$out/deepcopy.svg" || failed+=("the picture")
fi
[ ${#failed[@]} -eq 0 ] || { printf '# failed: %s\n' "${failed[@]}"; exit 1; }
