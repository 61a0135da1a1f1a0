/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stands in for OpenCL in a build without it.
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

const struct device_ops device_opencl_ops = {
    .name = "opencl",
    .absent = "built without OpenCL: install its headers and an ICD loader and configure again, or use -d cuda",
    .memtype = DEVICE_TYPE_OPENCL,
    .count = count,
    .open = open_device,
};
