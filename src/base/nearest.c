/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The known name that is most like an unknown one, by edit distance.
 */
#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

/* How many letters to insert, remove or replace to make b of a; SIZE_MAX when b is very long. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    size_t row[LONGEST + 1], length_b = strlen(b);
    if (length_b > LONGEST)
        return SIZE_MAX;
    for (size_t j = 0; j <= length_b; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length_b; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[length_b];
}

void shmemi_nearest_offer(struct shmemi_nearest *nearest, const char *known)
{
    size_t distance = edit_distance(nearest->unknown, known);
    if (distance == SIZE_MAX || (nearest->name && distance >= nearest->distance))
        return;
    nearest->name = known;
    nearest->distance = distance;
}
