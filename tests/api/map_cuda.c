/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shmmap on CUDA memory.
 */
#include "map_check.h"

#include <shmem.h>

int main(void)
{
    shmem_init();
    return map_check(&device_cuda_ops);
}
