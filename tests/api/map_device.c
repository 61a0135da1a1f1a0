/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens the device of a test.
 */
#include "check.h"
#include "map_check.h"

#include <shmemx.h>

static int absent; /* symmetric: some PE has no device */

/* Other kinds are skipped if a forced route exists for CUDA memory only, since they would be refused. */
static bool is_left_out(const struct device_ops *kind)
{
    const char *route = getenv("SHMEM_GPU_ROUTE");
    return kind->memtype != OSHM_MEMTYPE_CUDA && route && (!strcmp(route, "ipc") || !strcmp(route, "shadow"));
}

struct device *map_open_device(const struct device_ops *kind)
{
    struct device *device = is_left_out(kind) ? NULL : kind->open(shmemx_my_device(kind->memtype), NULL);
    absent = 0;
    shmem_barrier_all();
    for (int pe = 0; !device && pe < shmem_n_pes(); pe++)
        shmem_int_atomic_set(&absent, 1, pe); /* several PEs may say so */
    shmem_barrier_all();
    return absent ? NULL : device;
}
