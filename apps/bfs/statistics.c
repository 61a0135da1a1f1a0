/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Statistics of a sample as Graph500 asks for them.
 */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double first = *(const double *)a;
    double second = *(const double *)b;

    return (first > second) - (first < second);
}

/* Interpolates between the two values nearest to this part of the sorted sample. */
static double quantile(const double *sorted, int n, double part)
{
    double place = part * (n - 1);
    int below = (int)place;
    int above = below + 1 < n ? below + 1 : below;

    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

static double mean_of(const double *values, int n, double (*of)(double))
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += of(values[i]);
    return sum / n;
}

static double deviation_of(const double *values, int n, double mean, double (*of)(double))
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += (of(values[i]) - mean) * (of(values[i]) - mean);
    return n > 1 ? sqrt(sum / (n - 1)) : 0;
}

static double same(double x)
{
    return x;
}

static double inverse(double x)
{
    return 1 / x;
}

/* The error of a harmonic mean. Source: N. Norris, "The standard errors of the geometric and harmonic means and their
 * application to index numbers", 1940, as Graph500 takes it. */
struct statistics statistics_of(double *values, int n)
{
    struct statistics s;
    double inverse_mean = mean_of(values, n, inverse);

    qsort(values, (size_t)n, sizeof(*values), compare);
    s.min = values[0];
    s.first_quartile = quantile(values, n, 0.25);
    s.median = quantile(values, n, 0.5);
    s.third_quartile = quantile(values, n, 0.75);
    s.max = values[n - 1];
    s.mean = mean_of(values, n, same);
    s.deviation = deviation_of(values, n, s.mean, same);
    s.harmonic_mean = 1 / inverse_mean;
    s.harmonic_error =
        n > 1 ? deviation_of(values, n, inverse_mean, inverse) / (inverse_mean * inverse_mean) / sqrt(n - 1) : 0;
    return s;
}
