/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The marks of shmemx_annotate.h, read from the bytes of their section.
 */
#include "deep/types/marks.h"
#include "shmem/shmemx_annotate.h"

#include <string.h>

struct head {
    uint32_t word[2], n, text_bytes;
    uint64_t size;
};

enum { STEP = 8 };

/* The three texts of a mark, each with its end. */
static bool split(const char *text, size_t bytes, struct shmemi_mark *mark)
{
    const char **parts[] = {&mark->type, &mark->members, &mark->meaning};
    const char *end = text + bytes;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const char *stop = memchr(text, 0, (size_t)(end - text));
        if (!stop)
            return false;
        *parts[i] = text;
        text = stop + 1;
    }
    return text == end;
}

static bool read_mark(const char *bytes, size_t size, struct shmemi_mark *mark, size_t *taken_p)
{
    struct head head;
    memcpy(&head, bytes, sizeof head);
    size_t left = size - sizeof head;
    if (head.word[0] != SHMEMX_MARK_WORD || head.word[1] != SHMEMX_MARK_WORD ||
        head.n > left / sizeof(struct shmemi_mark_place))
        return false;
    size_t places = head.n * sizeof(struct shmemi_mark_place);
    mark->size = head.size;
    mark->n = head.n;
    mark->places = bytes + sizeof head;
    *taken_p = sizeof head + places + head.text_bytes;
    return head.text_bytes <= left - places && split(mark->places + places, head.text_bytes, mark);
}

bool shmemi_marks_next(const char *bytes, size_t size, size_t *at_p, struct shmemi_mark *mark)
{
    for (size_t at = *at_p, taken; at <= size && size - at >= sizeof(struct head); at += STEP)
        if (read_mark(bytes + at, size - at, mark, &taken)) {
            *at_p = at + (taken + STEP - 1) / STEP * STEP;
            return true;
        }
    *at_p = size;
    return false;
}

struct shmemi_mark_place shmemi_mark_place_at(const struct shmemi_mark *mark, uint32_t i)
{
    struct shmemi_mark_place place;
    memcpy(&place, mark->places + i * sizeof place, sizeof place);
    return place;
}
