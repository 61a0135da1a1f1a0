/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The OpenCL table of a build without OpenCL.
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
    die("built without OpenCL: install its headers and configure again, or use -d cuda");
}

const struct device_ops device_opencl = {
    .name = "opencl",
    .memtype = OSHM_MEMTYPE_OPENCL,
    .count = count,
    .open = open_device,
};
