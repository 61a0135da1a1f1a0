/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: what pointers point to, as stated by annotation files and by the marks of shmemx_annotate.h.
 */
#ifndef OSHTYPES_NOTES_H
#define OSHTYPES_NOTES_H

#include "deep/types/marks.h"
#include "tools/oshtypes/model.h"

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

#endif
