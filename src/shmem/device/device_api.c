/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's routines of shmemx_device.h.
 */
#include "device/device.h"
#include "shmem/internal.h"
#include "shmem/shmemx_device.h"
#include "shmem/team.h"

enum { AREA_HEAD = 128, AREA_FLAG = 64, AREA_ALIGNMENT = 16 }; /* as in mapshmem/device_team.h */
static_assert(SHMEMX_DEVICE_WORK_BYTES(3, 0) == AREA_HEAD + 3 * AREA_FLAG, "a work area has room for all flags");

static int view_of(const char *routine, const void *symmetric, shmemx_device_view_t *view)
{
    const struct shmemi_region *region = shmemi_region_of(symmetric);
    if (!region) {
        shmemi_error("%s: %p is not a symmetric address", routine, symmetric);
        return -EINVAL;
    }
    return shmemi_device_view(region, view);
}

SHMEMI_EXPORT int shmemx_device_view(const void *symmetric, shmemx_device_view_t *view)
{
    shmemi_require_init("shmemx_device_view");
    shmemi_require_pointer("shmemx_device_view", "view", view);
    return view_of("shmemx_device_view", symmetric, view);
}

SHMEMI_EXPORT int shmemx_device_sharers(void)
{
    shmemi_require_init("shmemx_device_sharers");
    const int known = shmemi_memory_sharers[SHMEMI_MEMTYPE_CUDA];
    return known > 1 ? known : 1;
}

SHMEMI_EXPORT int shmemx_device_spare_blocks(void)
{
    shmemi_require_init("shmemx_device_spare_blocks");
    return shmemi_job.n_nodes > 1 || atomic_load(&shmemi_memory_kernels_wait);
}

static int refuse_area(const char *why, const void *work, size_t nbytes, int n_pes)
{
    shmemi_error("shmemx_device_team_view: the work area of %zu bytes at %p %s; a team of %d needs at least %lu bytes, "
                 "aligned to %d",
                 nbytes, work, why, n_pes, SHMEMX_DEVICE_WORK_BYTES(n_pes, 0), AREA_ALIGNMENT);
    return -EINVAL;
}

SHMEMI_EXPORT int shmemx_device_team_view(shmem_team_t handle, void *work, size_t nbytes, shmemx_device_team_t *view)
{
    const struct shmemi_team *team = shmemi_require_team("shmemx_device_team_view", handle);
    shmemi_require_pointer("shmemx_device_team_view", "view", view);
    *view =
        (shmemx_device_team_t){.start = team->start, .stride = team->stride, .pe = team->my_pe, .n_pes = team->n_pes};
    int rc = view_of("shmemx_device_team_view", work, &view->work);
    if (rc)
        return rc;
    const struct shmemi_region *region = shmemi_region_of(work);
    const size_t offset = (size_t)((char *)work - region->base);
    const size_t least = SHMEMX_DEVICE_WORK_BYTES(team->n_pes, 0);
    view->area = view->work.own + offset;
    if (nbytes < least || !shmemi_region_holds(region, offset, nbytes))
        return refuse_area("is too small", work, nbytes, team->n_pes);
    if ((uintptr_t)view->area % AREA_ALIGNMENT)
        return refuse_area("is not aligned", work, nbytes, team->n_pes);
    view->slot = (unsigned)((nbytes - least) / (2 * (size_t)team->n_pes) / AREA_ALIGNMENT * AREA_ALIGNMENT);
    return team->world_pes ? shmemi_device_numbers(&view->work, team->world_pes, team->n_pes, &view->world) : 0;
}
