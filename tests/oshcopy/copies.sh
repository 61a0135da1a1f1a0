#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Builds order.cu and copies.cu in the ways in which programs are linked with the CUDA runtime, and runs each with
# oshcopy and without, in turns, on the GPU of this machine. Prints GB/s as copies.cu does.
#
# Usage: copies.sh OSHCOPY [MIBYTES [ROUNDS]]     OSHCOPY: the command. Status 1: a copy was wrong, or none taken over,
# or what order.cu saw was not the same.

set -u
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
oshcopy=$1
size=${2:-256} rounds=${3:-7}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# variant NAME NVCC-OPTION...
variant() {
    local name=$1 turn
    if ! nvcc -O2 -arch=native "${@:2}" -o "$work/$name" "$here/copies.cu"; then
        failed=1
        return
    fi
    for turn in 1 2; do
        echo "-- $name, turn $turn: plain"
        timeout 100 "$work/$name" "$size" "$rounds" || failed=1
        echo "-- $name, turn $turn: oshcopy"
        timeout 100 "$oshcopy" --log "$work/$name" "$size" "$rounds" 2>"$work/log" || failed=1
        cat "$work/log"
        grep -qE 'taken over: [1-9][0-9]* copies to the GPU.*, [1-9][0-9]* from it' "$work/log" || failed=1
    done
}

# same NAME NVCC-OPTION...: does order.cu see the same?
same() {
    local name=order-$1
    nvcc -O2 -arch=native "${@:2}" -o "$work/$name" "$here/order.cu" || failed=1
    timeout 100 "$work/$name" >"$work/plain" 2>&1 || failed=1
    timeout 100 "$oshcopy" --log "$work/$name" >"$work/taken" 2>"$work/log" || failed=1
    cat "$work/log"
    diff "$work/plain" "$work/taken" && grep -q 'taken over: [1-9]' "$work/log" && echo "-- $name: the same" || failed=1
}

same static -cudart static
same shared -cudart shared
same per-thread -cudart static -default-stream per-thread
variant static -cudart static
variant shared -cudart shared
variant per-thread -cudart static -default-stream per-thread
exit $failed
