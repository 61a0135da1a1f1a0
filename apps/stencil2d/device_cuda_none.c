/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The CUDA table of a build without CUDA.
 */
#include <shmemx.h>

#include "stencil2d.h"

static int count(void)
{
    return 0;
}

static struct device *open_device(int index)
{
    (void)index;
    die("built without CUDA: install nvcc and configure again, or use -d opencl");
}

const struct device_ops device_cuda = {
    .name = "cuda",
    .memtype = OSHM_MEMTYPE_CUDA,
    .count = count,
    .open = open_device,
};
