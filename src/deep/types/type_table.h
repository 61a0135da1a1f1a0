/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of deep/types share: the table of types with their descriptions.
 *
 *      type.c              the table: create, find, destroy
 *      check.c             refuses inconsistent descriptions, and compiles the others into links
 *      hash.c              finds types that refer to each other in a circle; layout hashes
 *      field_set.c         sets of fields, by name
 *      predefined_types.c  the types of C and gfortran
 */
#ifndef SHMEMI_DEEP_TYPE_TABLE_H
#define SHMEMI_DEEP_TYPE_TABLE_H

#include "deep/types/type.h"

#define HASH_NONFATAL_OOM 1 /* without memory an entry is not in the table */
#include <uthash.h>

struct shmemi_type_entry;

/* A field, with its description. */
struct shmemi_field {
    char *name;
    size_t offset, n; /* n as described */
    int kind;
    char *type_name;                  /* or NULL */
    char *count;                      /* or NULL */
    struct shmemi_type_entry *target; /* or NULL */
    size_t elements;                  /* n, or 1 for 0; or the rank of a descriptor */
    size_t nbytes;                    /* what it takes up in the object */
};

struct shmemi_type_entry {
    struct shmemi_type type;       /* the first member, so that a type leads to its entry */
    struct shmemi_integer integer; /* the type as a member at offset 0; size 0 if it is not an integer */
    bool is_character, is_predefined;
    size_t n_fields;
    struct shmemi_field *fields; /* as described */
    UT_hash_handle hh;           /* of the table */
    size_t created;              /* number of creations minus destructions; 0 if only its circle needs it */
    size_t held;
    uint32_t first_id; /* of its links */
    uint64_t circle;   /* number of the circle: the same for types that refer to each other, different for all others */

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

/* The predefined types, not yet in the table. */
struct shmemi_type_entry *shmemi_predefined_types(size_t *n_p);

/* Types that are created together. */
struct shmemi_new_types {
    const char *routine;
    size_t n;                           /* of new types */
    struct shmemi_type_entry **entries; /* whose targets are known */
};

/* Check new types and make their links. 0, -EINVAL (logged), -ENOMEM. */
int shmemi_types_check(const struct shmemi_new_types *new_types);
/* Find circles, number them from first_circle on, and compute layout hashes. */
int shmemi_types_hash(const struct shmemi_new_types *new_types, uint64_t first_circle);
/* Hash of a type without the types that it refers to. */
uint64_t shmemi_type_hash_alone(const struct shmemi_type *type);

/* These need the table locked. */
struct shmemi_type_entry *shmemi_type_table_find(const char *name);
/* The type whose name is most similar, or NULL if none is similar. */
const char *shmemi_type_table_nearest(const char *name);
/* All numbers of fields are below this. */
uint32_t shmemi_type_table_ids(void);
void shmemi_type_table_lock(void);
void shmemi_type_table_unlock(void);

/* "; did you mean NAME?", or nothing. */
#define SHMEMI_MEANT "%s%s%s"
#define SHMEMI_MEANT_ARGUMENTS(_name) (_name) ? "; did you mean " : "", (_name) ? (_name) : "", (_name) ? "?" : ""

#endif
