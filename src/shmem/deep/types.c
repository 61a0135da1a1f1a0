/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shmemx_type_*: the types of deep copy. They may be created before shmem_init.
 */
#include "shmem/internal.h"
#include "shmem/shmemx.h"

#include "deep/types/type.h"

/* The descriptions of the public header are passed on without conversion, so the layouts must be the same. */
#define SAME_FIELD(_public, _internal, _member)                                                                        \
    static_assert(offsetof(_public, _member) == offsetof(struct _internal, _member), #_member " must be the same")
SAME_FIELD(shmemx_field_t, shmemi_field_text, name);
SAME_FIELD(shmemx_field_t, shmemi_field_text, offset);
SAME_FIELD(shmemx_field_t, shmemi_field_text, kind);
SAME_FIELD(shmemx_field_t, shmemi_field_text, type);
SAME_FIELD(shmemx_field_t, shmemi_field_text, n);
SAME_FIELD(shmemx_field_t, shmemi_field_text, count);
static_assert(sizeof(shmemx_field_t) == sizeof(struct shmemi_field_text), "the same");
SAME_FIELD(shmemx_type_desc_t, shmemi_type_text, name);
SAME_FIELD(shmemx_type_desc_t, shmemi_type_text, size);
SAME_FIELD(shmemx_type_desc_t, shmemi_type_text, fields);
static_assert(offsetof(shmemx_type_desc_t, nfields) == offsetof(struct shmemi_type_text, n_fields), "the same");
static_assert(sizeof(shmemx_type_desc_t) == sizeof(struct shmemi_type_text), "the same");

#define SAME_KIND(_kind)                                                                                               \
    static_assert((int)SHMEMX_FIELD_##_kind == (int)SHMEMI_FIELD_##_kind, #_kind " must be the same")
SAME_KIND(VALUE);
SAME_KIND(POINTER);
SAME_KIND(STRING);
SAME_KIND(CFI);
SAME_KIND(GFORTRAN);
SAME_KIND(WEAK);
SAME_KIND(OPAQUE);

static shmemx_type_t to_public(const struct shmemi_type *type)
{
    return (shmemx_type_t)(uintptr_t)type;
}

SHMEMI_EXPORT shmemx_type_t shmemx_type_create(const char *name, size_t size, size_t nfields,
                                               const shmemx_field_t *fields)
{
    const struct shmemi_type_text text = {name, size, nfields, (const struct shmemi_field_text *)fields};
    const struct shmemi_type *type;
    return shmemi_types_create("shmemx_type_create", 1, &text, &type) ? NULL : to_public(type);
}

SHMEMI_EXPORT int shmemx_types_create(size_t ntypes, const shmemx_type_desc_t *types)
{
    return shmemi_types_create("shmemx_types_create", ntypes, (const struct shmemi_type_text *)types, NULL);
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
