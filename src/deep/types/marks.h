/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The marks that shmemx_annotate.h leaves in programs: read here from the bytes of their section, for the library and
 * for oshtypes.
 */
#ifndef SHMEMI_DEEP_MARKS_H
#define SHMEMI_DEEP_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHMEMI_MARKS_SECTION "shmemx_marks"

/* A mark; its texts lie in the section. */
struct shmemi_mark {
    const char *type, *members, *meaning;
    uint64_t size;
    uint32_t n;
    const char *places; /* n times offset and size, 8 bytes each, which may be unaligned */
};

/* The next whole mark at or after *at_p, which moves behind it; false when there is none. */
bool shmemi_marks_next(const char *bytes, size_t size, size_t *at_p, struct shmemi_mark *mark);

struct shmemi_mark_place {
    uint64_t offset, size;
};
struct shmemi_mark_place shmemi_mark_place_at(const struct shmemi_mark *mark, uint32_t i);

#endif
