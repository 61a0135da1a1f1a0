/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shmmap on OpenCL buffers.
 */
#include "map_check.h"

#include <shmem.h>

int main(void)
{
    shmem_init();
    return map_check(&device_opencl_ops);
}
