#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# device.sh - build device.cu with and without -rdc=true, and run it, on a machine with a GPU.
#
# Usage: device.sh PREFIX FOLDER
#
# PREFIX is where MapSHMEM is installed, FOLDER where programs are built. PEs that share a GPU need MPS, which whoever calls
# starts. The last line is "device.sh: N passed, N failed"; the status is 1 if anything has failed.

set -u
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
prefix=$1 folder=$2
home=$prefix/lib/mapshmem/nvshmem
arch=${CUDA_ARCH:-native}
passed=0 failed=0
mkdir -p "$folder"

# try NAME SECONDS COMMAND...
try() {
    local start=$SECONDS
    if timeout --kill-after=5 "$2" "${@:3}" >"$folder/log" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $1, $((SECONDS - start)) s"
    else
        failed=$((failed + 1))
        echo "FAILED  $1, after $((SECONDS - start)) s: ${*:3}"
        tail -n 15 "$folder/log" | sed 's/^/    /'
        return 1
    fi
}

compile=(nvcc -std=c++17 -O2 -arch="$arch" -I"$home/include")
link=(-L"$home/lib" -lnvshmem_host -lnvshmem_device -lcuda -ldl -Xlinker "-rpath,$home/lib")

# build NAME OPTION...: program, library and module
build() {
    local program=$folder/device$1
    try "build$1: first unit" 400 "${compile[@]}" "${@:2}" -c -o "$program.o" "$here/device.cu" &&
        try "build$1: second unit" 100 "${compile[@]}" "${@:2}" -c -o "$program-unit.o" "$here/device_unit.cu" &&
        try "build$1: program" 100 "${compile[@]}" "${@:2}" -o "$program" "$program.o" "$program-unit.o" "${link[@]}" &&
        try "build$1: library" 100 "${compile[@]}" "${@:2}" -DPART_OF_LIBRARY -Xcompiler -fPIC -shared \
            -o "$program.so" "$here/device_unit.cu" "${link[@]}" && build_module "$@"
}

# build_module NAME OPTION...: relocatable code has to be linked
build_module() {
    local program=$folder/device$1
    if [ $# = 1 ]; then
        try "build$1: module" 100 "${compile[@]}" -cubin -o "$program.cubin" "$here/device_module.cu"
    else
        try "build$1: code of the module" 100 "${compile[@]}" "${@:2}" -dc -o "$program-module.o" "$here/device_module.cu" &&
            try "build$1: module" 100 nvcc -arch="$arch" -dlink -cubin -o "$program.cubin" "$program-module.o"
    fi
}

# pes NAME N ASSIGNMENT...
pes() {
    try "run$1, $2 PEs ${*:3}" 100 env NVSHMEM_SYMMETRIC_SIZE=64M "${@:3}" "$prefix/bin/oshrun" --bind none -n "$2" \
        "$folder/device$1" "$folder/device$1.so" "$folder/device$1.cubin"
}

build ''
build -rdc -rdc=true
for kind in '' -rdc; do
    for n in 1 2; do pes "$kind" "$n"; done
done
pes '' 3
pes '' 2 SHMEM_NODE_SIZE=1
pes '' 2 SHMEM_GPU_ROUTE=staged
# shellcheck disable=SC2016 # the inner shell expands
try 'a wrong address is told' 100 bash -c '"$1/bin/oshrun" --bind none -n 2 "$2/device" wrong 2>&1 | tee /dev/stderr |
    grep -q "a put or p for PE [01] named the address"' told "$prefix" "$folder"
echo "device.sh: $passed passed, $failed failed"
[ "$failed" = 0 ]
