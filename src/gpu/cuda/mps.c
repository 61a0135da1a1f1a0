/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several processes on one GPU. Without further ado they use it in turns of about two milliseconds: a kernel that waits
 * for another process keeps the GPU until its turn ends. (A stream that waits by an operation of the driver does not.)
 * With NVIDIA's Multi-Process Service (MPS) they run beside each other.
 */
#include "gpu/cuda/context.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* CU_DEVICE_ATTRIBUTE_MPS_ENABLED, which older versions of cuda.h do not have. */
static const CUdevice_attribute attribute_mps_enabled = (CUdevice_attribute)133;

/* Is there a control pipe of MPS, which programs would connect to? */
static bool has_control_pipe(void)
{
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    char path[512];
    struct stat status;
    snprintf(path, sizeof path, "%s/control", folder ? folder : "/tmp/nvidia-mps");
    return !stat(path, &status) && (S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode));
}

/* Under MPS a process has two hardware queues unless it asks for more, otherwise eight. Streams that share one wait for
 * each other: if one of them waits for a word that another would set, neither goes on. */
void shmemi_cuda_mps_prepare(void)
{
    if (!has_control_pipe() || getenv("CUDA_DEVICE_MAX_CONNECTIONS"))
        return;
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "8", 0);
    shmemi_debug("MPS: CUDA_DEVICE_MAX_CONNECTIONS is set to 8");
}

static bool uses_mps(void)
{
    const struct shmemi_cuda_context *context = shmemi_cuda_context_any();
    int enabled = 0;
    if (context && shmemi_cuda.cuDeviceGetAttribute(&enabled, attribute_mps_enabled, context->handle) == CUDA_SUCCESS)
        return enabled;
    return has_control_pipe();
}

bool shmemi_cuda_kernels_may_wait(void)
{
    return shmemi_memory_sharers[SHMEMI_MEMTYPE_CUDA] < 2 || uses_mps();
}
