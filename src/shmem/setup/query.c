/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queries [9.1]: who this PE is, what it reaches, and which library this is.
 */
#define SHMEMX_CRAY_NAMES
#include "shmem/internal.h"

#include <string.h>

/* For what a child may ask, too: it tells which PE has forked it. */
static void require_number(const char *routine)
{
    if (shmemi_unlikely(!shmemi_job.n_pes) && !shmemi_is_forked_child())
        shmemi_require_init(routine);
}

SHMEMI_API(int, my_pe, (void))
{
    require_number("shmem_my_pe");
    return shmemi_job.pe;
}

SHMEMI_API(int, n_pes, (void))
{
    require_number("shmem_n_pes");
    return shmemi_job.n_pes;
}

#define OLD_NUMBER(name, number)                                                                                       \
    SHMEMI_API_OLD(int, name, (void))                                                                                  \
    {                                                                                                                  \
        require_number(#name);                                                                                         \
        return shmemi_job.number;                                                                                      \
    }
OLD_NUMBER(_my_pe, pe)
OLD_NUMBER(my_pe, pe)
OLD_NUMBER(_num_pes, n_pes)
OLD_NUMBER(num_pes, n_pes)

SHMEMI_API(int, pe_accessible, (int pe))
{
    shmemi_require_init("shmem_pe_accessible");
    return (unsigned)pe < (unsigned)shmemi_job.n_pes;
}

SHMEMI_API(int, addr_accessible, (const void *addr, int pe))
{
    shmemi_require_init("shmem_addr_accessible");
    return (unsigned)pe < (unsigned)shmemi_job.n_pes && shmemi_region_of(addr);
}

void *shmemi_ptr(const void *dest, int pe)
{
    const struct shmemi_region *region = shmemi_region_of(dest);
    const struct shmemi_view *view = region ? shmemi_region_near_view(region, pe) : NULL;
    if (!view || !view->driver->is_direct || !view->place.memory->addresses)
        return NULL;
    return (void *)(view->place.address + (size_t)((const char *)dest - region->base));
}

SHMEMI_API(void *, ptr, (const void *dest, int pe))
{
    shmemi_require_init("shmem_ptr");
    return shmemi_ptr(dest, pe);
}

SHMEMI_API(void, info_get_version, (int *major, int *minor))
{
    shmemi_require_pointer("shmem_info_get_version", "major", major);
    shmemi_require_pointer("shmem_info_get_version", "minor", minor);
    *major = SHMEM_MAJOR_VERSION;
    *minor = SHMEM_MINOR_VERSION;
}

/* For profiling tools, which replace it [10.1.1]. */
SHMEMI_API(void, pcontrol, (int level, ...))
{
    (void)level;
}

SHMEMI_API(void, info_get_name, (char *name))
{
    shmemi_require_pointer("shmem_info_get_name", "name", name);
    strcpy(name, SHMEM_VENDOR_STRING);
}
