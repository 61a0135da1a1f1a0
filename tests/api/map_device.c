/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening the device of a test, and what the benchmarks' device layer needs of its host program.
 */
#include "check.h"
#include "map_check.h"
#include "../osu/session.h"

#include <shmemx.h>

static int absent; /* symmetric: some PE has no device */

void osu_fail(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    FAIL("%s", text);
}

/* A forced route that only CUDA memory has leaves the other kinds out: they would be refused. */
static bool is_left_out(const struct device_ops *device)
{
    const char *route = getenv("SHMEM_GPU_ROUTE");
    return device->type != OSHM_MEMTYPE_CUDA && route && (!strcmp(route, "ipc") || !strcmp(route, "shadow"));
}

bool map_open_device(const struct device_ops *device)
{
    int index = is_left_out(device) ? -1 : shmemx_my_device(device->type);
    absent = 0;
    shmem_barrier_all();
    bool opened = index >= 0 && device->open(index) == 0;
    for (int pe = 0; !opened && pe < shmem_n_pes(); pe++)
        shmem_int_p(&absent, 1, pe);
    shmem_barrier_all();
    return !absent;
}
