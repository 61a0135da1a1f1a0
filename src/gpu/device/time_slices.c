/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several processes on one GPU: may their kernels wait for each other? Where they have the GPU one after the other, each for
 * a slice of time, a kernel that waits for another process keeps the GPU until its slice ends.
 */
#include "gpu/device/gpu_context.h"

bool shmemi_gpu_runs_beside(void)
{
    const struct shmemi_gpu_context *context = shmemi_gpu_context_any();
    return shmemi_gpu.runs_processes_beside(context ? context->handle : -1);
}

static bool may_wait(int sharers)
{
    static _Atomic(int) runs_beside = -1; /* unknown; it stays as it is */
    if (sharers < 2)
        return true;
    if (runs_beside < 0)
        runs_beside = shmemi_gpu_runs_beside();
    return runs_beside;
}

bool shmemi_gpu_kernels_may_wait(void)
{
    return may_wait(shmemi_memory_sharers[shmemi_gpu.memory->type]);
}

bool shmemi_gpu_kernels_may_wait_on(const struct shmemi_gpu_context *context)
{
    return may_wait(shmemi_memory_sharers_of(shmemi_gpu.memory->type, context->device));
}
