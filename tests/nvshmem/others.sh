#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# others.sh - build and run programs of others that are written for NVSHMEM, as they are, with their own build files, on the
# NVSHMEM interface of MapSHMEM. Needs a GPU, nvcc and Open MPI. Without cmake it compiles the files of examples and perftests by
# nvcc alone, with the options of their build files.
#
# Usage: others.sh PREFIX SOURCES WORK [PES]
#
#   PREFIX   where MapSHMEM is installed
#   SOURCES  a folder with any of these, unpacked:
#              nvshmem                         of github.com/NVIDIA/nvshmem: examples and perftest
#              multi-gpu-programming-models    of github.com/NVIDIA: nvshmem/jacobi.cu
#              include                         nvml.h, if the CUDA toolkit has none
#   WORK     a folder for what is built, and for the logs
#   PES      how many PEs (2)
#
# Environment: PARTS      which of "own jacobi examples perftests" (all); own: gpu.cu, beside this file
#              PERFTESTS  names of perftests (a selection)
#              SECONDS_EACH  the most that one program may take (60)
#
# Writes "PASS: ...", "FAIL: ..." or "SKIP: ..." for each program, then "N passed, N failed, N skipped". A program passes if
# it builds, ends with status 0, and writes what is expected of it.

set -u
prefix=$(cd -- "${1:?PREFIX}" && pwd) sources=$(cd -- "${2:?SOURCES}" && pwd)
mkdir -p "${3:?WORK}"
work=$(cd -- "$3" && pwd) pes=${4:-2}
parts=${PARTS:-own jacobi examples perftests} each=${SECONDS_EACH:-60}
perftests=${PERFTESTS:-shmem_put_latency shmem_p_latency shmem_put_signal_ping_pong_latency shmem_p_ping_pong_latency
    shmem_signal_ping_pong_latency shmem_atomic_latency shmem_put_bw shmem_get_bw barrier_latency sync_latency
    reduction_latency bcast_latency fcollect_latency alltoall_latency reducescatter_latency
    barrier_all_on_stream barrier_on_stream alltoall_on_stream broadcast_on_stream fcollect_on_stream
    reduction_on_stream reducescatter_on_stream malloc bw latency stream_latency}
home=$(find "$prefix" -path '*/mapshmem/nvshmem/include/nvshmem.h' -printf '%h\n' -quit)
home=${home%/include}
[ -n "$home" ] || { echo "others.sh: no nvshmem.h below $prefix" >&2; exit 2; }
cuda=$(dirname -- "$(dirname -- "$(readlink -f -- "$(type -P nvcc || echo /usr/local/cuda/bin/nvcc)")")")
mpi=$(mpicxx --showme:incdirs 2>/dev/null | tr ' ' ':')
# Link names that a machine with a driver only may lack.
mkdir -p "$work/links"
for name in cuda nvidia-ml; do
    found=$(ldconfig -p | sed -n "s/.*lib$name\.so\.1 .*x86-64.* => //p;s/.*lib$name\.so\.1 .*AArch64.* => //p" | head -n 1)
    [ -z "$found" ] || ln -sf "$found" "$work/links/lib$name.so"
done
export PATH=$prefix/bin:$cuda/bin:$PATH NVSHMEM_HOME=$home CUDA_HOME=$cuda
# Without its C++ interface, which has to be linked: the perftests find MPI when they run.
export CXXFLAGS=-DOMPI_SKIP_MPICXX
export CPATH=$mpi:$sources/include LIBRARY_PATH=$work/links:$cuda/lib64/stubs LD_LIBRARY_PATH=$home/lib:${home%/mapshmem/nvshmem}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
architecture=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
architecture=${architecture:-90}
passed=0 failed=0 skipped=0

report() { # PASS|FAIL|SKIP TEXT
    case $1 in PASS) passed=$((passed + 1)) ;; FAIL) failed=$((failed + 1)) ;; *) skipped=$((skipped + 1)) ;; esac
    echo "$1: $2"
}

# built LOG COMMAND...: whether it succeeds
built() {
    timeout 550 "${@:2}" >"$work/$1.build.log" 2>&1
}

# try NAME EXPECTED COMMAND...: EXPECTED is a regular expression that a line of the output matches, or empty
try() {
    local log=$work/$1.log status lines
    timeout -k 5 "$each" "${@:3}" >"$log" 2>&1 </dev/null
    status=$?
    lines=$(grep -cE -- "$2" "$log")
    if [ "$status" = 0 ] && { [ -z "$2" ] || [ "$lines" -ge 1 ]; } && ! grep -qiE '\berror\b|failure|mismatch' "$log"; then
        report PASS "$1 ($lines lines)"
    else
        report FAIL "$1: status $status, $lines lines with '$2'"
        tail -n 6 "$log" | sed 's/^/    /'
    fi
}

# With relocatable device code, and without.
own() {
    local here way options
    here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
    for way in plain rdc; do
        options=()
        [ $way = plain ] || options=(-rdc=true)
        if built "own-$way" nvcc "${options[@]}" -std=c++17 -arch="sm_$architecture" -I"$home/include" -o "$work/own-$way" \
            "$here/gpu.cu" -L"$home/lib" -lnvshmem_host -lnvshmem_device; then
            try "own-$way" ': verified' oshrun -n "$pes" "$work/own-$way"
            try "own-$way-1" ': verified' oshrun -n 1 "$work/own-$way"
        else
            report FAIL "gpu.cu, $way, does not build"
            tail -n 5 "$work/own-$way.build.log"
        fi
    done
}

jacobi() {
    local source=$sources/multi-gpu-programming-models/nvshmem options name
    [ -e "$source/jacobi.cu" ] || { report SKIP 'jacobi: no sources'; return; }
    cp -r "$source" "$work/jacobi"
    built jacobi make -C "$work/jacobi" "BUILD_SM_ARCH=$architecture" "CUDA_HOME=$cuda" ||
        { report FAIL "jacobi does not build"; tail -n 5 "$work/jacobi.build.log"; return; }
    for options in '' -use_block_comm -norm_overlap -neighborhood_sync '-use_block_comm -neighborhood_sync'; do
        name=jacobi${options// /}
        # shellcheck disable=SC2086 # options are words
        try "$name" '^nvshmem.*, 100, 1, ' oshrun -n "$pes" "$work/jacobi/jacobi" -csv -nx 2048 -ny 2048 -niter 100 $options
    done
}

# by_cmake NAME SOURCE TARGET...: with its own build file
by_cmake() {
    built "$1-configure" cmake -S "$2" -B "$work/$1" -DNVSHMEM_PREFIX="$home" -DCUDA_HOME="$cuda" \
        -DCUDA_ARCHITECTURES="$architecture" -DMPI_HOME="${MPI_HOME:-/usr}" &&
        built "$1" make -k -j "$(nproc)" -C "$work/$1" "${@:3}"
}

nvcc_options=(-rdc=true -std=c++17 "-arch=sm_$architecture" -DNVSHMEMTEST_MPI_SUPPORT -Xcompiler -DOMPI_SKIP_MPICXX
    "-I$home/include")
nvcc_libraries=("-L$home/lib" -lnvshmem_host -lnvshmem_device -lcuda -lnvidia-ml -ldl)

# by_nvcc NAME SOURCE [OPTION...]: compiles the file and links it with $work/NAME/helper/*.o
by_nvcc() {
    local name
    mkdir -p "$work/$1"
    name=$(basename "$2")
    built "$1-${name%.*}" nvcc -ccbin mpicxx -x cu "${nvcc_options[@]}" "${@:3}" -c -o "$work/$1/${name%.*}.o" "$2" &&
        built "$1-${name%.*}-link" nvcc -ccbin mpicxx "${nvcc_options[@]}" -o "$work/$1/${name%.*}" \
            "$work/$1/${name%.*}.o" "$work/$1"/helper/*.o "${nvcc_libraries[@]}"
}

# by_nvcc_all NAME [OPTION...]: the sources on the input, several at a time
by_nvcc_all() {
    local source
    while read -r source; do
        while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
        by_nvcc "$1" "$source" "${@:2}" &
    done
    wait
}

# The expected output of each example.
expected() {
    case $1 in
        dev-guide-ring | dev-guide-ring-mpi) echo "^[0-9]+: received message [0-9]+" ;;
        collective-launch) echo 'results on device \[[0-9]+\] is' ;;
        ring-bcast | user-buffer) echo '' ;;
        ring-reduce) echo 'B .*ms' ;;
        moe_shuffle) echo '^Rank' ;;
        *) echo 'run complete' ;;
    esac
}

examples() {
    local name nodes=()
    # They choose the GPU with the number of the PE in its node: with fewer GPUs each PE is a node.
    [ "$(nvidia-smi -L | wc -l)" -ge "$pes" ] || nodes=(SHMEM_NODE_SIZE=1)
    [ -d "$sources/nvshmem/examples" ] || { report SKIP 'examples: no sources'; return; }
    if command -v cmake >/dev/null; then
        by_cmake examples "$sources/nvshmem/examples"
    else
        mkdir -p "$work/examples/helper"
        built examples-helper nvcc "${nvcc_options[@]}" -x cu -dc -o "$work/examples/helper/none.o" /dev/null
        find "$sources/nvshmem/examples" -maxdepth 1 -name '*.cu' ! -name 'shmem-based*' | by_nvcc_all examples
    fi
    for name in dev-guide-ring dev-guide-ring-mpi mpi-based-init uid-based-init collective-launch on-stream thread-group \
        put-block ring-bcast ring-reduce user-buffer moe_shuffle; do
        if [ ! -e "$work/examples/$name" ]; then
            report FAIL "example $name does not build"
            cat "$work"/examples*.build.log | grep -E 'error|undefined' | head -n 3
        else
            try "$name" "$(expected "$name")" oshrun -n "$pes" env "${nodes[@]}" NVSHMEM_SYMMETRIC_SIZE=512M \
                "$work/examples/$name"
        fi
    done
    # It includes Open MPI's shmem.h or MapSHMEM's, and is not in the CMake file.
    cp "$sources/nvshmem/examples/"{hello.cpp,shmem-based-init.cu} "$work/examples"
    for name in hello.cpp shmem-based-init.cu; do
        if built "$name" nvcc -arch="sm_$architecture" -std=c++17 -x cu -I"$home/include" -DNVSHMEMTEST_MPI_SUPPORT -o \
            "$work/examples/${name%.*}" "$work/examples/$name" -L"$home/lib" -lnvshmem_host -lnvshmem_device \
            -L"$prefix/lib" -lmapshmem -lcuda; then
            try "${name%.*}" '' oshrun -n "$pes" env "${nodes[@]}" "$work/examples/${name%.*}"
        else
            report FAIL "example $name does not build"
            grep -E 'error|undefined' "$work/$name.build.log" | head -n 3
        fi
    done
}

perftests() {
    local name file directory
    [ -d "$sources/nvshmem/perftest" ] || { report SKIP 'perftests: no sources'; return; }
    cp -r "$sources/nvshmem" "$work/nvshmem" # its CMake file writes into the sources
    if command -v cmake >/dev/null; then
        # shellcheck disable=SC2046 # names are words
        by_cmake perftests "$work/nvshmem/perftest" $(for name in $perftests; do
            file=$(find "$work/nvshmem/perftest" -name "$name.c*" -print -quit)
            case $file in */device/*) echo "perf_device_$name" ;; *) echo "perf_host_$name" ;; esac
        done)
    else
        mkdir -p "$work/perftests/helper"
        built perftests-helper nvcc -ccbin mpicxx "${nvcc_options[@]}" -x cu -dc -o "$work/perftests/helper/utils.o" \
            "$work/nvshmem/perftest/common/utils.cu"
        for name in $perftests; do find "$work/nvshmem/perftest" -name "$name.c*" -print -quit; done |
            by_nvcc_all perftests "-I$work/nvshmem/perftest/common"
    fi
    for name in $perftests; do
        file=$(find "$work/perftests" -type f -name "$name" -perm -u+x -print -quit)
        if [ -z "$file" ]; then
            report FAIL "perftest $name does not build"
            cat "$work"/perftests*.build.log | grep -E 'error|undefined' | grep -F "$name" | head -n 3
            continue
        fi
        directory=$(dirname "$file")
        try "perftest-$name" '[0-9]' env -C "$directory" oshrun -n "$pes" env NVSHMEM_SYMMETRIC_SIZE=2G "$file"
    done
}

for part in $parts; do "$part"; done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
