#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# gpu_matrix.sh - is mapped memory ever slower than copies by hand? Runs gpu_matrix in every configuration that this
# machine has, and adds up.
#
# Usage: bench/gpu_matrix.sh [--prefix DIR] [--out DIR] [--kinds LIST] [--sharing LIST] [--links LIST]
#        [--bindings LIST] [--calls LIST] [--quick] [--limit S]
#
#   --prefix DIR     where MapSHMEM is installed, or its build directory (what is in PATH)
#   --out DIR        gets gpu_matrix.csv and the output of each run (./gpu_matrix.out)
#   --kinds LIST     of memory ("cuda opencl"; OpenCL is that of a GPU if there is one, else PoCL)
#   --sharing LIST   own: two PEs with a GPU each; two: both on the first GPU; mps: the same, and MPS has been started
#                    by the caller ("own two")
#   --links LIST     of node, tcp, posix+cma (all)
#   --bindings LIST  of default, none (both)
#   --calls LIST     some of the program's calls, separated by commas (all)
#   --quick          short blocks and small sizes, to see that it works
#   --limit S        seconds for everything (240)
#
# Links are the node's memory, and between two nodes played on this machine tcp and UCX's shared memory (posix+cma),
# which stands in for a fast network. Bindings are oshrun's default and none.

set -u

prefix='' out=gpu_matrix.out kinds='cuda opencl' sharings='own two' links='node tcp posix+cma' limit=240 quick=()
bindings='default none' calls=()

die() { echo "gpu_matrix.sh: $*" >&2; exit 1; }

while [ $# -gt 0 ]; do
    case $1 in
        --prefix | --out | --kinds | --sharing | --links | --bindings | --calls | --limit) [ $# -gt 1 ] || die "$1 needs a value" ;;
    esac
    case $1 in
        --prefix) prefix=$2; shift ;;
        --out) out=$2; shift ;;
        --kinds) kinds=$2; shift ;;
        --sharing) sharings=$2; shift ;;
        --limit) limit=$2; shift ;;
        --links) links=$2; shift ;;
        --bindings) bindings=$2; shift ;;
        --calls) calls=(--calls "$2"); shift ;;
        --quick) quick=(--quick) ;;
        -h | --help) sed -n '/^# Usage/,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
        *) die "unknown option '$1' (see --help)" ;;
    esac
    shift
done
if [ -n "$prefix" ]; then
    if [ -d "$prefix/bin" ]; then PATH=$prefix/bin:$PATH; else PATH=$prefix:$PATH; fi
fi
for name in oshrun gpu_matrix; do
    command -v "$name" >/dev/null || die "no $name in the PATH: give --prefix DIR"
done
if ! mkdir -p "$out" || ! out=$(cd -- "$out" && pwd); then die "cannot write $out"; fi
rm -f "$out"/gpu_matrix.csv "$out"/*.log
: >"$out/gpu_matrix.csv"
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')

# ---- configurations: "kind link binding sharing" -----------------------------------------------------------------

# why_not KIND SHARING: why this cannot be measured here; nothing if it can
why_not() {
    case $1-$2 in
        *-own) [ "$gpus" -ne 1 ] || echo "this machine has one GPU" ;;
        opencl-mps) echo "NVIDIA's OpenCL refuses contexts under MPS" ;;
        opencl-two) [ "$gpus" -gt 0 ] || echo "PoCL has no GPU to share" ;;
    esac
}

configurations=() left_out=()
for sharing in $sharings; do
    for kind in $kinds; do
        reason=$(why_not "$kind" "$sharing")
        if [ -n "$reason" ]; then left_out+=("$kind, $sharing: $reason"); continue; fi
        for link in $links; do
            for binding in $bindings; do configurations+=("$kind $link $binding $sharing"); done
        done
    done
done

# A configuration has 42 cells, each of 12 blocks; half of the time is for what is longer than a block.
block=$((limit * 1000000 / 2 / (${#configurations[@]} > 0 ? ${#configurations[@]} : 1) / 42 / 12))
block=$((block < 200 ? 200 : block > 4000 ? 4000 : block))

# measure KIND LINK BINDING SHARING: 0, 77 when there is no such device, or another status
measure() {
    local -a settings=() options=()
    local left=$((limit - SECONDS)) log=$out/$1-$2-$3-$4.log status
    [ "$left" -gt 3 ] || { failed+=("$*: no time left"); return 1; }
    case $2 in
        tcp) settings+=(SHMEM_NODE_SIZE=1 "UCX_TLS=tcp,self") ;;
        posix+cma) settings+=(SHMEM_NODE_SIZE=1 "UCX_TLS=posix,cma,self") ;;
    esac
    [ "$3" = default ] || options+=(--bind "$3")
    [ "$4" = own ] || settings+=(CUDA_VISIBLE_DEVICES=0)
    env ${settings[@]+"${settings[@]}"} timeout -k 5 $((left < 60 ? left : 60)) oshrun ${options[@]+"${options[@]}"} \
        -n 2 gpu_matrix -d "$1" --as "$2 $3 $4" --block "$block" --csv "$out/gpu_matrix.csv" \
        ${quick[@]+"${quick[@]}"} ${calls[@]+"${calls[@]}"} >"$log" 2>&1 </dev/null
    status=$?
    case $status in
        0) ;;
        77) left_out+=("$1: $(grep -v '^oshrun:' "$log" | tail -n 1)") ;;
        124 | 137) failed+=("$*: did not end in time") ;;
        *) failed+=("$*: status $status: $(grep -v '^oshrun:' "$log" | tail -n 1)") ;;
    esac
    return $status
}

failed=() absent=''
for configuration in ${configurations[@]+"${configurations[@]}"}; do
    read -r -a words <<<"$configuration"
    [[ " $absent " != *" ${words[0]} "* ]] || continue
    measure "${words[@]}" || { [ $? -ne 77 ] || absent+=" ${words[0]}"; }
done

# ---- the table: a line for each configuration, the slower cells below it -----------------------------------------

awk -F, '
    function flush() {
        if (at) printf "%-34s %5d %7d%s\n", at, cells, slower, list
        cells = slower = 0
        list = ""
    }
    BEGIN { printf "%-34s %5s %7s\n", "# memory, link, binding, sharing", "cells", "slower" }
    {
        key = $1 " " $2 " " $3 " " $4
        if (key != at) { flush(); at = key }
        cells++
        all++
        if ($7 > 1.03 * $8) {
            slower++
            all_slower++
            list = list sprintf("\n    %s of %s bytes: %s us, by hand %s, host %s (%.2f x)", $5, $6, $7, $8, $9, $7 / $8)
        }
        if ($11 == "wrong") list = list sprintf("\n    %s of %s bytes: WRONG BYTES", $5, $6)
    }
    END { flush(); printf "cells: %d, slower than by hand: %d\n", all, all_slower }' "$out/gpu_matrix.csv"
for line in ${left_out[@]+"${left_out[@]}"}; do echo "# not measured: $line"; done
for line in ${failed[@]+"${failed[@]}"}; do echo "# failed: $line"; done
if [ ${#failed[@]} -gt 0 ]; then exit 1; fi
[ -s "$out/gpu_matrix.csv" ] || exit 77
