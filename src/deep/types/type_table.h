/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files about types share: the table of types, with all that was said about them.
 *
 *      type.c              the table: create, find, destroy
 *      deep/types/check.c        descriptions that make no sense are refused; the others become links
 *      deep/types/hash.c         types that refer to each other in a circle; layout hashes
 *      field_set.c         fields by name
 *      predefined_types.c  the types of C and gfortran
 */
#ifndef SHMEMI_DEEP_TYPE_TABLE_H
#define SHMEMI_DEEP_TYPE_TABLE_H

#include "deep/types/type.h"

struct shmemi_type_entry;

/* A member as it was described. */
struct shmemi_field {
    char *name;
    size_t offset, n; /* n as described */
    enum shmemi_field_kind kind;
    char *type_name;                  /* or NULL */
    char *count;                      /* or NULL */
    struct shmemi_type_entry *target; /* or NULL */
    size_t elements;                  /* n where 0 means 1; rank of a descriptor */
    size_t nbytes;                    /* that it takes in the object */
};

struct shmemi_type_entry {
    struct shmemi_type type;       /* first: a type is found in its entry */
    struct shmemi_integer integer; /* what it is as a member at offset 0; size 0: no integer */
    bool is_character, is_predefined;
    size_t n_fields;
    struct shmemi_field *fields;    /* as described */
    struct shmemi_type_entry *next; /* in its bucket */
    size_t created;                 /* how often, without what was destroyed again; 0: only its circle needs it */
    size_t held;
    uint32_t first_id; /* of its links */
    uint64_t circle;   /* number that all types have which refer to each other in a circle, and no others */

    /* During creation. */
    enum { SHMEMI_NOT_VISITED, SHMEMI_VISITING, SHMEMI_VISITED } visit;
    size_t order, earliest; /* in the search for circles */
};

static inline struct shmemi_type_entry *shmemi_type_entry(const struct shmemi_type *type)
{
    return (struct shmemi_type_entry *)(uintptr_t)type;
}

static inline bool shmemi_type_is_character(const struct shmemi_type *type)
{
    return shmemi_type_entry(type)->is_character;
}

/* The predefined types, in no table. */
struct shmemi_type_entry *shmemi_predefined_types(size_t *n_p);

/* Types that are made together. */
struct shmemi_type_batch {
    const char *routine;
    size_t n;                           /* of new types */
    struct shmemi_type_entry **entries; /* whose targets are known */
};

/* Check new types and make their links. 0, -EINVAL (logged), -ENOMEM. */
int shmemi_types_check(const struct shmemi_type_batch *batch);
/* Find circles, numbered from first_circle on, and compute layout hashes. */
int shmemi_types_hash(const struct shmemi_type_batch *batch, uint64_t first_circle);
/* Of a type without what it refers to. */
uint64_t shmemi_type_hash_alone(const struct shmemi_type *type);

/* With the table locked. */
struct shmemi_type_entry *shmemi_type_table_find(const char *name);
/* The known type whose name is nearest, or NULL when none is near. */
const char *shmemi_type_table_nearest(const char *name);
/* Numbers of fields are below this. */
uint32_t shmemi_type_table_ids(void);
void shmemi_type_table_lock(void);
void shmemi_type_table_unlock(void);

/* "; did you mean NAME?", or nothing. */
#define SHMEMI_MEANT "%s%s%s"
#define SHMEMI_MEANT_ARGUMENTS(_name) (_name) ? "; did you mean " : "", (_name) ? (_name) : "", (_name) ? "?" : ""

#endif
