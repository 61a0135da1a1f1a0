/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA memory in a build without cuda.h: there is none. open refuses, so that nothing else of the kind is ever called.
 */
#include "gpu/memory.h"

#include <errno.h>

static int refuse(void)
{
    return -ENODEV;
}

const struct shmemi_memory shmemi_memory_cuda = {
    .name = "cuda", .title = "CUDA", .type = SHMEMI_MEMTYPE_CUDA, .open = refuse};
