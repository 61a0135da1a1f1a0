/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types of objects with pointers, as the walk uses them: checked and compiled when they are created, then constant.
 */
#ifndef SHMEMI_DEEP_TYPE_H
#define SHMEMI_DEEP_TYPE_H

#include "shmem/shmemx_deep.h"

#include <stdbool.h>

/* An integer in an object. */
struct shmemi_integer {
    size_t offset;
    uint8_t size; /* 1, 2, 4, 8 */
    bool is_signed;
};

/* The number of objects that a pointer points to: a sum of products (count.h). */
struct shmemi_count_expression;

struct shmemi_type;

/* A field that matters to the walk: a pointer, or objects with pointers inside. */
struct shmemi_type_link {
    int kind;    /* SHMEMX_FIELD_* */
    uint32_t id; /* number of the field among all fields, for sets of fields */
    size_t offset;
    size_t n;                                    /* elements of a VALUE or POINTER; rank of a descriptor */
    const struct shmemi_count_expression *count; /* of a POINTER, or NULL: n */
    const struct shmemi_type *target;            /* may be NULL for WEAK and OPAQUE */
    const char *name;
};

struct shmemi_type {
    const char *name;
    size_t size;
    size_t alignment; /* the largest power of two that divides size, at most 16 */
    bool has_links;
    size_t n_links;
    struct shmemi_type_link *links; /* by ascending offset */
    uint64_t layout;                /* shmemx_type_hash */
};

/* Create all types or none; types_p, unless NULL, receives them in order. Returns 0, or logs routine, type and field
 * and returns -errno. Any thread. */
int shmemi_types_create(const char *routine, size_t n, const shmemx_type_desc_t *texts,
                        const struct shmemi_type **types_p);
const struct shmemi_type *shmemi_type_find(const char *name);
/* Whether this is the address of a type, and not any other pointer or a type that was destroyed. */
bool shmemi_type_exists(const struct shmemi_type *type);
/* 0, or -EBUSY or -EPERM, logged. */
int shmemi_type_destroy(const struct shmemi_type *type);
/* Keep a type from being destroyed while something needs it; let_go undoes this. */
void shmemi_type_hold(const struct shmemi_type *type);
void shmemi_type_let_go(const struct shmemi_type *type);
/* Destroy all types but the predefined ones. None is in use any more. */
void shmemi_types_close(void);

/* A set of fields that a map skips. It has room for all fields that exist when it is made. */
struct shmemi_field_set {
    size_t n_words;
    uint64_t *words;
};
/* names: a list of "type.field", ended by NULL, or NULL. Logs a wrong name and returns -EINVAL. */
int shmemi_field_set_open(const char *routine, const char *const *names, struct shmemi_field_set *set);
void shmemi_field_set_close(struct shmemi_field_set *set);
static inline bool shmemi_field_set_has(const struct shmemi_field_set *set, uint32_t id)
{
    return id / 64 < set->n_words && set->words[id / 64] >> id % 64 & 1;
}

#endif
