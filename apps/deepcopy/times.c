/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Repeated measurements and their median.
 */
#include "deepcopy.h"

#include <stdlib.h>

/* The least number of repetitions; one less if they take longer than LONG_REPETITION. */
enum { REPETITIONS_MIN = 3 };
static const double LONG_REPETITION = 0.5e6;

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
    return (times->all[times->n / 2] + times->all[(times->n - 1) / 2]) / 2;
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
    long n = repetition->n++;
    if (n == 0)
        repetition->start = now_us();
    double elapsed = now_us() - repetition->start;
    bool is_long = n > 0 && elapsed / (double)n > LONG_REPETITION;
    bool is_late = elapsed > options->seconds * 1e6 && n >= REPETITIONS_MIN - is_long;
    return n < options->repetitions && !is_late;
}
