/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deep copy to this PE's GPU: the public routines.
 */
#include "deep/space/space.h"
#include "deep/types/type.h"
#include "gpu/placement.h"
#include "shmem/deep/deep.h"

#include "base/log.h"

static struct shmemi_space *space_of(const char *routine, shmemx_deep_space_t space)
{
    shmemi_require_init(routine);
    if (!space)
        shmemi_fatal("%s: the space is NULL", routine);
    if (!shmemi_space_exists((struct shmemi_space *)space))
        shmemi_fatal("%s: %p is not a space, or was destroyed", routine, (void *)space);
    return (struct shmemi_space *)space;
}

static int refuse_flags(const char *routine, int flags, const char *allowed)
{
    shmemi_error("%s: flags %#x; allowed: %s", routine, (unsigned)flags, allowed);
    return -EINVAL;
}

SHMEMI_EXPORT shmemx_deep_space_t shmemx_deep_space_create(const shmemx_deep_space_attr_t *attr)
{
    struct shmemi_space *space = NULL;
    shmemi_require_init("shmemx_deep_space_create");
    if (!attr)
        shmemi_fatal("shmemx_deep_space_create: attr is NULL");
    shmemx_deep_space_attr_t wanted = *attr;
    if (!wanted.buffer && wanted.device == -1)
        wanted.device = shmemi_placement_device(wanted.memory_type);
    return shmemi_space_open(&wanted, &space) ? NULL : (shmemx_deep_space_t)space;
}

SHMEMI_EXPORT void shmemx_deep_space_destroy(shmemx_deep_space_t space)
{
    if (space)
        shmemi_space_close(space_of("shmemx_deep_space_destroy", space));
}

SHMEMI_EXPORT int shmemx_deep_map(shmemx_deep_space_t space, const void *source, shmemx_type_t type, size_t nelems,
                                  int flags, const char *const *skip, uint64_t *device_p)
{
    static const char routine[] = "shmemx_deep_map";
    struct shmemi_space *mine = space_of(routine, space);
    struct shmemi_space_root root = {(uintptr_t)source, (const struct shmemi_type *)type, nelems};
    uint64_t device = 0;
    if (flags & ~(SHMEMX_DEEP_TO | SHMEMX_DEEP_ALWAYS))
        return refuse_flags(routine, flags, "SHMEMX_DEEP_TO and SHMEMX_DEEP_ALWAYS");
    int rc = shmemi_deep_check_type(routine, type);
    if (rc)
        return rc;
    rc = source ? shmemi_space_map(mine, &root, flags, skip, &device) : 0;
    if (!rc && device_p)
        *device_p = device;
    return rc;
}

SHMEMI_EXPORT int shmemx_deep_unmap(shmemx_deep_space_t space, const void *source, int flags)
{
    static const char routine[] = "shmemx_deep_unmap";
    struct shmemi_space *mine = space_of(routine, space);
    if (flags & ~(SHMEMX_DEEP_FROM | SHMEMX_DEEP_ALWAYS))
        return refuse_flags(routine, flags, "SHMEMX_DEEP_FROM and SHMEMX_DEEP_ALWAYS");
    return source ? shmemi_space_unmap(mine, (uintptr_t)source, flags) : 0;
}

SHMEMI_EXPORT int shmemx_deep_update(shmemx_deep_space_t space, const void *source, int flags)
{
    static const char routine[] = "shmemx_deep_update";
    struct shmemi_space *mine = space_of(routine, space);
    if (flags != SHMEMX_DEEP_TO && flags != SHMEMX_DEEP_FROM)
        return refuse_flags(routine, flags, "either SHMEMX_DEEP_TO or SHMEMX_DEEP_FROM");
    return source ? shmemi_space_update(mine, (uintptr_t)source, flags) : 0;
}

SHMEMI_EXPORT int shmemx_deep_release(shmemx_deep_space_t space, const void *source, int flags)
{
    static const char routine[] = "shmemx_deep_release";
    struct shmemi_space *mine = space_of(routine, space);
    if (flags & ~(SHMEMX_DEEP_FROM | SHMEMX_DEEP_ALWAYS))
        return refuse_flags(routine, flags, "SHMEMX_DEEP_FROM and SHMEMX_DEEP_ALWAYS");
    return source ? shmemi_space_release(mine, (uintptr_t)source, flags) : 0;
}

SHMEMI_EXPORT uint64_t shmemx_deep_device(shmemx_deep_space_t space, const void *address)
{
    return shmemi_space_device(space_of("shmemx_deep_device", space), (uintptr_t)address);
}
