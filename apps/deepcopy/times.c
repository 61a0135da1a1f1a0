/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Repeated measurements and their median.
 */
#include "deepcopy.h"
#include "session.h"

#include <stdlib.h>

enum { REPETITIONS_MIN = 3 };

void times_add(struct times *times, double microseconds)
{
    if (times->n < REPETITIONS_MAX)
        times->all[times->n++] = microseconds;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double times_median(struct times *times)
{
    if (times->n == 0)
        return NAN;
    qsort(times->all, (size_t)times->n, sizeof times->all[0], by_value);
    return times->all[times->n / 2];
}

double times_best(const struct times *times)
{
    double best = NAN;
    for (long i = 0; i < times->n; i++)
        best = isnan(best) || times->all[i] < best ? times->all[i] : best;
    return best;
}

bool repeat(const struct options *options, struct repetition *repetition)
{
    if (repetition->n == 0)
        repetition->start = osu_time();
    bool late = osu_time() - repetition->start > options->seconds * 1e6;
    bool enough = repetition->n >= options->repetitions || (repetition->n >= REPETITIONS_MIN && late);
    repetition->n++;
    return !enough;
}
