#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# kernel_size.sh - what one call adds to a kernel: registers, stack and code, here and with NVSHMEM's device API.
#
# Usage: bench/kernel_size.sh [--prefix DIR] [--arch sm_NN]
#
#   --prefix DIR   where the library is installed (/usr/local)
#   --arch sm_NN   the GPU to compile for (sm_90); none is needed
#
# Each kernel is compiled alone, with nvcc -O3. Bytes of code are those of the kernel and of all functions that it takes
# along. NVSHMEM is searched for as nvshmem.sh says, and left out if it is not there.

set -u

source=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
prefix=/usr/local arch=sm_90

die() { echo "kernel_size.sh: $*" >&2; exit 1; }

while [ $# -gt 0 ]; do
    case $1 in
        --prefix) prefix=${2:?} && shift ;;
        --arch) arch=${2:?} && shift ;;
        -h | --help) sed -n '/^# Usage/,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
        *) die "unknown argument '$1' (see --help)" ;;
    esac
    shift
done
command -v nvcc >/dev/null || die "there is no nvcc"
command -v readelf >/dev/null || die "there is no readelf (binutils)"
[ -e "$prefix/include/shmemx_device.h" ] || die "$prefix/include/shmemx_device.h is not there (see --prefix)"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# name, and the call in either library
kernels=(
    'a store|a[0] = v|a[0] = v'
    'p of 8 B|shmemx_device_p(view, a, v, pe)|nvshmem_long_p(a, v, pe)'
    'put of 8 B, thread|shmemx_device_put(shmemx_device_thread_t(), view, a, b, 1, pe)|nvshmem_long_put(a, b, 1, pe)'
    'put of 8 B, block|shmemx_device_put(shmemx_device_block_t(), view, a, b, 1, pe)|nvshmemx_long_put_block(a, b, 1, pe)'
    'put of n, thread|shmemx_device_put(shmemx_device_thread_t(), view, a, b, n, pe)|nvshmem_long_put(a, b, n, pe)'
    'put of n, block|shmemx_device_put(shmemx_device_block_t(), view, a, b, n, pe)|nvshmemx_long_put_block(a, b, n, pe)'
    'put_signal of 8 B, thread|shmemx_device_put_signal(shmemx_device_thread_t(), view, a, b, 1, s, 1, SHMEM_SIGNAL_SET, pe)|nvshmem_long_put_signal(a, b, 1, s, 1, NVSHMEM_SIGNAL_SET, pe)'
    'put_signal of n, block|shmemx_device_put_signal(shmemx_device_block_t(), view, a, b, n, s, 1, SHMEM_SIGNAL_SET, pe)|nvshmemx_long_put_signal_block(a, b, n, s, 1, NVSHMEM_SIGNAL_SET, pe)'
)
arguments='long *a, const long *b, uint64_t *s, long v, unsigned long n, int pe'

# code_of CUBIN: bytes of all its functions
code_of() {
    local size sum=0
    while read -r size; do sum=$((sum + 16#$size)); done < <(
        readelf -SW "$1" 2>/dev/null | sed -nE 's/.* \.text\.[^ ]+ +PROGBITS +[0-9a-f]+ +[0-9a-f]+ ([0-9a-f]+) .*/\1/p')
    echo $sum
}

# largest PATTERN: the largest number before it, in the compiler's messages
largest() { grep -Eo "[0-9]+ $1" "$dir/log" | sort -n | tail -n 1 | cut -d ' ' -f 1; }

ours() { # EXPRESSION
    printf '#include <shmemx_device.h>\nextern "C" __global__ void kernel(shmemx_device_view_t view, %s) { %s; }\n' \
        "$arguments" "$1" >"$dir/kernel.cu"
    nvcc -O3 -arch="$arch" -I"$prefix/include" -cubin -o "$dir/kernel.cubin" -Xptxas -v "$dir/kernel.cu" >"$dir/log" 2>&1 ||
        die "a kernel does not compile: $(grep -m 1 error "$dir/log")"
    printf '%s %s %s' "$(largest registers)" "$(largest 'bytes stack frame')" "$(code_of "$dir/kernel.cubin")"
}

theirs() { # EXPRESSION
    printf '#include <nvshmem.h>\n#include <nvshmemx.h>\nextern "C" __global__ void kernel(%s) { %s; }\n' \
        "$arguments" "$1" >"$dir/kernel.cu"
    if ! nvcc -O3 -arch="$arch" -dc -I"$home/include" -o "$dir/kernel.o" "$dir/kernel.cu" >"$dir/log" 2>&1 ||
        ! nvcc -arch="$arch" -dlink -cubin -o "$dir/kernel.cubin" "$dir/kernel.o" -L"$home/lib" -lnvshmem_device \
            -Xnvlink -v >"$dir/log" 2>&1; then
        die "NVSHMEM's kernel does not compile: $(grep -m 1 error "$dir/log")"
    fi
    printf '%s %s %s' "$(largest registers)" "$(largest stack)" "$(code_of "$dir/kernel.cubin")"
}

home=$("$source/nvshmem.sh" home "$dir" 2>/dev/null) || echo "# NVSHMEM is not installed here"
echo "# $(nvcc --version | grep release), $arch${home:+; NVSHMEM in $home}"
printf '%-26s %10s %8s %8s' '' registers stack bytes
[ -z "$home" ] || printf ' %20s %8s %8s' 'NVSHMEM: registers' stack bytes
echo
for kernel in "${kernels[@]}"; do
    IFS='|' read -r name mine other <<<"$kernel"
    figures=$(ours "$mine") || exit 1
    read -r -a columns <<<"$figures"
    printf '%-26s %10s %8s %8s' "$name" "${columns[@]}"
    if [ -n "$home" ]; then
        figures=$(theirs "$other") || exit 1
        read -r -a columns <<<"$figures"
        printf ' %20s %8s %8s' "${columns[@]}"
    fi
    echo
done
