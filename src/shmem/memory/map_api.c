/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shmmap, shmumap and the other extensions of shmemx.h.
 */
#include "shmem/check/check.h"
#include "shmem/shmemx.h"
#include "shmem/team.h"
#include "shmmap/symmetric.h"

#include "device/device.h"
#include "gpu/placement.h"
#include "transport/stream/stream.h"

#include <assert.h>

#define MEMORY_KIND(type, ...)                                                                                         \
    static_assert(OSHM_MEMTYPE_##type == SHMEMI_MEMTYPE_##type, "public and internal numbers must be the same");
#include "gpu/memory_kinds.def"

SHMEMI_EXPORT void *shmmap(void *obj, size_t size, int type)
{
    void *address = NULL;
    struct shmemi_call call = {.routine = "shmmap", .activity = SHMEMI_AT_RUNTIME};
    shmemi_require_init("shmmap");
    shmemi_call_begin(&call);
    shmemi_check_equal("shmmap", &shmemi_team_world, NULL); /* arguments that differ are refused, not wrong */
    shmemi_barrier_in("shmmap");
    int rc = shmemi_map(obj, size, type, &address);
    shmemi_call_end(&call);
    return rc ? NULL : address;
}

SHMEMI_EXPORT void shmumap(void *ptr)
{
    if (!ptr)
        return;
    struct shmemi_call call = {.routine = "shmumap", .activity = SHMEMI_AT_RUNTIME};
    shmemi_require_init("shmumap");
    shmemi_call_begin(&call);
    shmemi_streams_drain();
    shmemi_check_equal("shmumap", &shmemi_team_world,
                       SHMEMI_ARGUMENTS({"the offset in the window", (uintptr_t)ptr - shmemi_window.base}));
    shmemi_barrier_in("shmumap");
    if (shmemi_region_of(ptr))
        shmemi_device_forget(shmemi_region_of(ptr)->id);
    if (shmemi_unmap(ptr))
        shmemi_give_up();
    shmemi_call_end(&call);
}

SHMEMI_EXPORT void *shmemx_map(void *obj, size_t size, const shmemx_map_attr_t *attr)
{
    shmemi_require_pointer("shmemx_map", "attr", attr);
    if (attr->flags)
        shmemi_fatal("shmemx_map: flags must be 0, not %#lx", attr->flags);
    return shmmap(obj, size, attr->type);
}

SHMEMI_EXPORT void shmemx_unmap(void *ptr)
{
    shmumap(ptr);
}

SHMEMI_EXPORT const char *shmemx_strerror(void)
{
    return shmemi_map_cause();
}

SHMEMI_EXPORT const char *shmemx_last_error(void)
{
    return shmemi_log_take_error();
}

SHMEMI_EXPORT const char *shmemx_route(const void *addr, int pe)
{
    shmemi_require_init("shmemx_route");
    const struct shmemi_region *region = shmemi_region_of(addr);
    if (!region || (unsigned)pe >= (unsigned)shmemi_job.n_pes)
        return NULL;
    return shmemi_region_view(region, pe)->driver->name;
}

SHMEMI_EXPORT int shmemx_kernels_may_wait(int type)
{
    shmemi_require_init("shmemx_kernels_may_wait");
    const struct shmemi_memory *memory = shmemi_memory_of_type(type);
    return memory && memory->streams && memory->streams->commands && memory->streams->commands->kernels_may_wait();
}

SHMEMI_EXPORT int shmemx_my_device(int type)
{
    shmemi_require_init("shmemx_my_device");
    return shmemi_placement_device(type);
}
