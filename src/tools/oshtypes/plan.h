/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: the descriptors of the types on the command line and of all types that they reach, and the C file that is
 * written from them.
 */
#ifndef OSHTYPES_PLAN_H
#define OSHTYPES_PLAN_H

#include "tools/oshtypes/notes.h"

#include <stdio.h>

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
    struct osht_type *record; /* NULL: a helper, for example for a pointer that is pointed to */
};

/* How pointers without an annotation are treated. */
enum osht_unannotated {
    OSHT_GUESS, /* as one object, with a warning, if it points to a struct; refused otherwise */
    OSHT_REFUSE,
    OSHT_TAKE_AS_ONE,
    OSHT_TAKE_AS_WEAK,
    OSHT_TAKE_AS_OPAQUE
};

/* Describe the type with the name that the user gave. Prints all errors that there are. */
void osht_plan_add(const char *name, enum osht_unannotated unannotated);
/* All descriptors; call it after the last type was added. */
size_t osht_plan_end(const struct osht_descriptor *const **descriptors_p);

/* write.c */
struct osht_output {
    const char *path;   /* for messages                     */
    const char *name;   /* of the function: NAME_register    */
    const char *source; /* the file that was read           */
    const char **headers;
    size_t n_headers;
};

void osht_write(FILE *file, const struct osht_output *output, size_t n,
                const struct osht_descriptor *const *descriptors);

#endif
