// SPDX-License-Identifier: BSD-3-Clause
//
// A kernel that needs nothing but the header: device.test compiles it with NVRTC and clang, without CUDA's own headers.
#include <shmemx_device.h>

extern "C" __global__ void exchange(double *own, const double *source, unsigned long *signal, int *word,
                                    shmemx_device_view_t view, shmemx_device_team_t team)
{
    const shmemx_device_block_t block;
    const int next = (view.pe + 1) % view.n_pes;
    shmemx_device_put_signal(block, view, own, source, 100, signal, 1, SHMEM_SIGNAL_ADD, next);
    shmemx_device_signal_wait_until(block, view, signal, SHMEM_CMP_GE, 1);
    shmemx_device_get(shmemx_device_warp_t(), view, own + 200, own, 100, next);
    shmemx_device_p(view, own, 1.5, next);
    own[1] = shmemx_device_g(view, own, next);
    shmemx_device_atomic_add(view, word, shmemx_device_atomic_fetch_inc(view, word + 1, 0), next);
    shmemx_device_sum_reduce(block, team, own, own, 10);
    shmemx_device_barrier(block, team);
}
