/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What other units than the first do in device.cu: a ring of puts with signals, by a block of each PE.
 */
#ifndef DEVICE_PARTS_H
#define DEVICE_PARTS_H

#include <nvshmem.h>

struct part_run {
    uint64_t *words, *signals; /* symmetric, 16 each; the unit uses the last two */
    int *failed;               /* 1: what has come is wrong */
};

typedef void part_launch_t(const part_run &run);
void launch_part_of_unit(const part_run &run);

static __device__ inline void do_part(const part_run &run)
{
    const int me = nvshmem_my_pe(), n = nvshmem_n_pes();
    const uint64_t mine[2] = {static_cast<uint64_t>(1000 + me), static_cast<uint64_t>(2000 + me)};
    __shared__ uint64_t source[2];
    const uint64_t before = nvshmem_signal_fetch(&run.signals[15]);
    if (threadIdx.x < 2)
        source[threadIdx.x] = mine[threadIdx.x];
    nvshmemx_barrier_all_block();
    nvshmemx_uint64_put_signal_block(&run.words[14], source, 2, &run.signals[15], 1, NVSHMEM_SIGNAL_ADD, (me + 1) % n);
    if (threadIdx.x == 0) {
        nvshmem_signal_wait_until(&run.signals[15], NVSHMEM_CMP_GT, before);
        const uint64_t from = static_cast<uint64_t>((me + n - 1) % n);
        if (run.words[14] != 1000 + from || run.words[15] != 2000 + from)
            *run.failed = 1;
    }
    nvshmemx_barrier_all_block();
}

#endif
