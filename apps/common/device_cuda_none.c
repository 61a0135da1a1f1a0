/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA table of a build without CUDA.
 */
#include <shmemx.h>

#include "device.h"
#include "util.h"

static int count(void)
{
    return 0;
}

static struct device *open_device(int index, const struct kernel_code *code)
{
    (void)index;
    (void)code;
    die("built without CUDA: install nvcc and configure again, or use -d opencl");
}

const struct device_ops device_cuda = {
    .name = "cuda",
    .memtype = OSHM_MEMTYPE_CUDA,
    .count = count,
    .open = open_device,
};
