/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The marks of shmemx_annotate.h: what the macros leave in the program is read back; damaged bytes are skipped.
 */
#include "deep/types/marks.h"
#include "shmem/shmemx_annotate.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

struct thing {
    char letter;
    int n;
    double *values;
    struct {
        short deep;
    } inside;
};

SHMEMX_COUNT(struct thing, values, "n+1");
SHMEMX_LAYOUT(struct thing, letter, n, values, inside.deep);

extern const char __start_shmemx_marks[], __stop_shmemx_marks[];

static bool is_mark(const struct shmemi_mark *mark, const char *members, const char *meaning, uint32_t n)
{
    return !strcmp(mark->type, "struct thing") && !strcmp(mark->members, members) && !strcmp(mark->meaning, meaning) &&
           mark->size == sizeof(struct thing) && mark->n == n;
}

static bool is_place(const struct shmemi_mark *mark, uint32_t i, size_t offset, size_t size)
{
    struct shmemi_mark_place place = shmemi_mark_place_at(mark, i);
    return place.offset == offset && place.size == size;
}

static void test_macros(const char *bytes, size_t size)
{
    struct shmemi_mark mark;
    size_t n_counts = 0, n_layouts = 0, n = 0;
    for (size_t at = 0; shmemi_marks_next(bytes, size, &at, &mark); n++) {
        if (is_mark(&mark, "values", "count n+1", 1))
            n_counts += is_place(&mark, 0, offsetof(struct thing, values), sizeof(double *));
        if (is_mark(&mark, "letter, n, values, inside.deep", "layout", 4))
            n_layouts += is_place(&mark, 0, 0, 1) && is_place(&mark, 1, offsetof(struct thing, n), sizeof(int)) &&
                         is_place(&mark, 3, offsetof(struct thing, inside.deep), sizeof(short));
    }
    CHECK(n == 2 && n_counts == 1 && n_layouts == 1);
}

/* Every byte changed to several values, in a copy of the exact size: everything that is found lies inside. */
static void test_damage(const char *bytes, size_t size)
{
    static const unsigned char values[] = {0, 1, 0x7f, 0x80, 0xff};
    struct shmemi_mark mark;
    size_t found = 0, outside = 0;
    for (size_t i = 0; i < size * sizeof values; i++) {
        char *copy = malloc(size);
        memcpy(copy, bytes, size);
        copy[i / sizeof values] = (char)values[i % sizeof values];
        for (size_t at = 0; shmemi_marks_next(copy, size, &at, &mark); found++) {
            const char *end = mark.meaning + strlen(mark.meaning) + 1;
            outside += mark.type < copy || end > copy + size || at > size;
            for (uint32_t j = 0; j < mark.n; j++)
                shmemi_mark_place_at(&mark, j);
        }
        free(copy);
    }
    CHECK(found > size && !outside);
    size_t too_far = 0;
    for (size_t length = 0; length < size; length++) {
        char *copy = malloc(length ? length : 1);
        memcpy(copy, bytes, length);
        for (size_t at = 0; shmemi_marks_next(copy, length, &at, &mark);)
            too_far += mark.meaning + strlen(mark.meaning) >= copy + length;
        free(copy);
    }
    CHECK(!too_far);
}

int main(void)
{
    size_t size = (size_t)(__stop_shmemx_marks - __start_shmemx_marks);
    test_macros(__start_shmemx_marks, size);
    test_damage(__start_shmemx_marks, size);
    return 0;
}
