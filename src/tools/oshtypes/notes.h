/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: what pointers point to, as annotation files and the marks of shmemx_annotate.h say.
 */
#ifndef OSHTYPES_NOTES_H
#define OSHTYPES_NOTES_H

#include "deep/types/marks.h"
#include "tools/oshtypes/model.h"

enum osht_meaning { OSHT_ONE, OSHT_COUNT, OSHT_STRING, OSHT_WEAK, OSHT_OPAQUE, OSHT_CFI, OSHT_MEANINGS };

struct osht_note {
    enum osht_meaning meaning;
    const char *count; /* COUNT: expression; CFI: rank */
    const char *of;    /* type of what is pointed to, or NULL */
    const char *text, *where;
};

/* Lines "TYPE.MEMBER MEANING"; # begins a comment. Errors name file and line. */
void osht_notes_read(const char *path);
/* The marks in the files that are open. Those of types that are not in the debug information are left alone. */
void osht_notes_from_marks(void);
/* All marks, each once; layouts too. */
size_t osht_marks(const struct shmemi_mark **marks_p);

/* The note for a member, at a level: 0 what it is, 1 what it points to is; NULL when there is none. */
const struct osht_note *osht_note_of(const struct osht_member *member, size_t level);

#endif
