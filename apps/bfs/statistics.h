/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Statistics of a sample as Graph500 asks for them.
 */
#ifndef BFS_STATISTICS_H
#define BFS_STATISTICS_H

struct statistics {
    double min, first_quartile, median, third_quartile, max;
    double mean, deviation;
    /* The mean that suits rates, and its standard error, which is 0 for a single value. */
    double harmonic_mean, harmonic_error;
};

/* Sorts the values. */
struct statistics statistics_of(double *values, int n);

#endif
