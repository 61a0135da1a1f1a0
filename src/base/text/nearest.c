/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The known name that is most like an unknown one, by edit distance.
 */
#include "base/text/nearest.h"

#include "base/least.h"

#include <stdint.h>
#include <string.h>

enum { LONGEST = 64 };

/* One letter more of a: now[j] is the distance to the first j letters of b, with what it was for one and for two
 * letters less of a. */
static void advance(const char *a, size_t i, const char *b, const size_t *twice_before, const size_t *before,
                    size_t *now)
{
    now[0] = i;
    for (size_t j = 1; b[j - 1]; j++) {
        now[j] = before[j - 1] + (a[i - 1] != b[j - 1]);
        now[j] = shmemi_least(now[j], shmemi_least(before[j], now[j - 1]) + 1);
        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
            now[j] = shmemi_least(now[j], twice_before[j - 2] + 1);
    }
}

/* How many letters to insert, remove or replace, or neighbours to swap, to make b of a; SIZE_MAX when b is very long. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[3][LONGEST + 1], length_b = strlen(b), i = 0;
    if (length_b > LONGEST)
        return SIZE_MAX;
    for (size_t j = 0; j <= length_b; j++)
        row[0][j] = j;
    while (a[i]) {
        i++;
        advance(a, i, b, row[(i + 1) % 3], row[(i + 2) % 3], row[i % 3]);
    }
    return row[i % 3][length_b];
}

void shmemi_nearest_offer(struct shmemi_nearest *nearest, const char *known)
{
    size_t distance = edit_distance(nearest->unknown, known);
    if (distance == SIZE_MAX || (nearest->name && distance >= nearest->distance))
        return;
    nearest->name = known;
    nearest->distance = distance;
}
