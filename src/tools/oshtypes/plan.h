/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: the descriptors of the types on the command line and of all types that they reach, the notes that they
 * follow, and the C file that is written from them.
 */
#ifndef OSHTYPES_PLAN_H
#define OSHTYPES_PLAN_H

#include "deep/types/marks.h"
#include "tools/oshtypes/model.h"

#include <stdio.h>

/* ---- notes.c: what pointers point to, as stated by annotation files and by the marks of shmemx_annotate.h ---------- */

enum osht_meaning { OSHT_ONE, OSHT_COUNT, OSHT_STRING, OSHT_WEAK, OSHT_OPAQUE, OSHT_CFI, OSHT_MEANINGS };

struct osht_note {
    enum osht_meaning meaning;
    const char *count; /* of COUNT the expression, of CFI the rank */
    const char *of;    /* the type that is pointed to, or NULL */
    const char *text, *where;
};

/* Read lines "TYPE.MEMBER MEANING" from a file; # begins a comment. Errors name file and line. */
void osht_notes_read(const char *path);
/* Read the marks in the files that are open. Marks of types that are not in the debug information are ignored. */
void osht_notes_from_marks(void);
/* All marks, each once, those of layouts included. */
size_t osht_marks(const struct shmemi_mark **marks_p);

/* The note on a member (level 0), on what it points to (level 1), and so on; NULL when there is none. */
const struct osht_note *osht_note_of(const struct osht_member *member, size_t level);

/* ---- plan.c -------------------------------------------------------------------------------------------------------- */

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

/* ---- write.c ------------------------------------------------------------------------------------------------------- */

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
