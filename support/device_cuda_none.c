/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stands in for CUDA in a build without it.
 */
#include "device.h"

static int count(void)
{
    return 0;
}

static struct device *open_device(int index, const struct kernel_code *code)
{
    (void)index;
    (void)code;
    return NULL;
}

const struct device_ops device_cuda_ops = {
    .name = "cuda",
    .absent = "built without CUDA: install nvcc and configure again, or use -d opencl",
    .memtype = DEVICE_TYPE_CUDA,
    .count = count,
    .open = open_device,
};
