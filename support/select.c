/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chooses the kind of device that all PEs have.
 */
#include <shmem.h>

#include "device.h"
#include "util.h"

static bool every_pe_has(const struct device_ops *ops, const struct kernel_code *code)
{
    return job_max(device_count(ops, code) == 0) == 0;
}

const struct device_ops *device_select(const char *name, const struct kernel_code *code)
{
    const struct device_ops *named = device_find(name);

    if (named)
        return named;
    if (every_pe_has(&device_cuda_ops, code))
        return &device_cuda_ops;
    if (every_pe_has(&device_opencl_ops, code))
        return &device_opencl_ops;
    quit_all("no CUDA device and no OpenCL device that every PE could use: install a driver (PoCL runs on the CPU)");
}
