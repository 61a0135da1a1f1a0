/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenCL memory in a build without CL/cl.h: there is none. open refuses, so that nothing else of the kind is ever
 * called.
 */
#include "gpu/memory.h"

#include <errno.h>

static int refuse(void)
{
    return -ENODEV;
}

const struct shmemi_memory shmemi_memory_opencl = {
    .name = "opencl", .title = "OpenCL", .type = SHMEMI_MEMTYPE_OPENCL, .open = refuse};
