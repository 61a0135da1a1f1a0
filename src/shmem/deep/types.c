/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shmemx_type_*: the types of deep copy. They may be created before shmem_init.
 */
#include "shmem/internal.h"
#include "shmem/shmemx.h"

#include "deep/types/type.h"

static shmemx_type_t to_public(const struct shmemi_type *type)
{
    return (shmemx_type_t)(uintptr_t)type;
}

SHMEMI_EXPORT shmemx_type_t shmemx_type_create(const char *name, size_t size, size_t nfields,
                                               const shmemx_field_t *fields)
{
    const shmemx_type_desc_t text = {name, size, nfields, fields};
    const struct shmemi_type *type;
    return shmemi_types_create("shmemx_type_create", 1, &text, &type) ? NULL : to_public(type);
}

SHMEMI_EXPORT int shmemx_types_create(size_t ntypes, const shmemx_type_desc_t *types)
{
    return shmemi_types_create("shmemx_types_create", ntypes, types, NULL);
}

SHMEMI_EXPORT shmemx_type_t shmemx_type_find(const char *name)
{
    return to_public(shmemi_type_find(name));
}

SHMEMI_EXPORT int shmemx_type_destroy(shmemx_type_t type)
{
    return shmemi_type_destroy((const struct shmemi_type *)type);
}

SHMEMI_EXPORT uint64_t shmemx_type_hash(shmemx_type_t type)
{
    if (!type)
        return 0;
    if (!shmemi_type_exists((const struct shmemi_type *)type))
        shmemi_fatal("shmemx_type_hash: %p is not a type, or was destroyed", (const void *)type);
    return ((const struct shmemi_type *)type)->layout;
}
