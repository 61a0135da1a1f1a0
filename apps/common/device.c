/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Choice of the programming interface.
 */
#include "device.h"

#include <shmem.h>
#include <string.h>

#include "util.h"

static bool every_pe_has(const struct device_ops *ops)
{
    int *flag = symmetric_alloc(2 * sizeof(int));
    bool all;

    flag[0] = ops->count() == 0;
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, &flag[1], &flag[0], 1);
    all = flag[1] == 0;
    shmem_free(flag);
    return all;
}

const struct device_ops *device_select(const char *name)
{
    if (strcmp(name, "cuda") == 0)
        return &device_cuda;
    if (strcmp(name, "opencl") == 0)
        return &device_opencl;
    if (every_pe_has(&device_cuda))
        return &device_cuda;
    if (every_pe_has(&device_opencl))
        return &device_opencl;
    quit_all("no CUDA device and no OpenCL device that every PE could use: install a driver (PoCL runs on the CPU)");
}
