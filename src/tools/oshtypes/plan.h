/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: the descriptors of the types that were asked for and of all that they reach.
 */
#ifndef OSHTYPES_PLAN_H
#define OSHTYPES_PLAN_H

#include "tools/oshtypes/notes.h"

struct osht_field {
    const char *name;
    size_t offset;
    const char *kind; /* what follows SHMEMX_FIELD_ */
    const char *type; /* or NULL */
    size_t n;
    const char *count; /* or NULL */
};

struct osht_descriptor {
    const char *name;
    size_t size;
    struct osht_field *fields;
    size_t n_fields;
    struct osht_type *record; /* NULL: a helper, such as a pointer that is pointed to */
};

/* What a pointer is that no annotation speaks of. */
enum osht_unannotated {
    OSHT_GUESS, /* one object if it points to a struct, with a warning; refused otherwise */
    OSHT_REFUSE,
    OSHT_TAKE_AS_ONE,
    OSHT_TAKE_AS_WEAK,
    OSHT_TAKE_AS_OPAQUE
};

/* Describe a type by the name that the user gave; errors are reported, all that there are. */
void osht_plan_add(const char *name, enum osht_unannotated unannotated);
/* All of them, after the last was added. */
size_t osht_plan_end(const struct osht_descriptor *const **descriptors_p);

#endif
