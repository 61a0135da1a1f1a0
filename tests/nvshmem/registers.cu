// SPDX-License-Identifier: BSD-3-Clause
//
// Each call of a block, alone in a kernel: nvshmem.test reads how many registers ptxas gives it. A block of 1024 threads can be
// launched with at most 64 a thread.
#include <nvshmem.h>
#include <nvshmemx.h>

#define KERNEL(NAME, ...)                                                                                              \
    __global__ void NAME(double *dest, const double *source, int *words, uint64_t *signal, size_t n, int pe)           \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
    }

KERNEL(put, nvshmemx_double_put_block(dest, source, n, pe))
KERNEL(put_nbi, nvshmemx_putmem_nbi_block(dest, source, n, pe))
KERNEL(put_signal, nvshmemx_putmem_signal_block(dest, source, n, signal, 1, NVSHMEM_SIGNAL_ADD, pe))
KERNEL(put_thread, nvshmem_double_put(dest, source, n, pe))
KERNEL(get, nvshmemx_double_get_block(dest, source, n, pe))
KERNEL(get_thread, nvshmem_double_get(dest, source, n, pe))
KERNEL(iput, nvshmemx_double_iput_block(dest, source, 2, 3, n, pe))
KERNEL(iget, nvshmemx_double_iget_block(dest, source, 2, 3, n, pe))
KERNEL(p, nvshmem_double_p(dest + threadIdx.x, n, pe))
KERNEL(g, dest[threadIdx.x] = nvshmem_double_g(source + threadIdx.x, pe))
KERNEL(atomic_add, nvshmem_int_atomic_fetch_add(words, 1, pe))
KERNEL(wait, nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, n))
KERNEL(barrier, nvshmemx_barrier_all_block())
KERNEL(broadcast, nvshmemx_double_broadcast_block(NVSHMEM_TEAM_WORLD, dest, source, n, 0))
KERNEL(fcollect, nvshmemx_double_fcollect_block(NVSHMEM_TEAM_WORLD, dest, source, n))
KERNEL(alltoall, nvshmemx_double_alltoall_block(NVSHMEM_TEAM_WORLD, dest, source, n))
KERNEL(sum, nvshmemx_double_sum_reduce_block(NVSHMEM_TEAM_WORLD, dest, source, n))
KERNEL(max_int, nvshmemx_int_max_reduce_block(NVSHMEM_TEAM_WORLD, words, words + 1, n))
KERNEL(reducescatter, nvshmemx_double_sum_reducescatter_block(NVSHMEM_TEAM_WORLD, dest, source, n))
