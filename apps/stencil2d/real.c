/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables of functions for float and double. Compile with -ffp-contract=off: a fused multiply-add rounds once where the
 * kernels round twice.
 */
#include "real.h"

#include <math.h>
#include <string.h>

/* Finaliser of SplitMix64: spreads every bit of its argument over the whole word. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* In [0, 1), with 24 bits, so that float and double start from the same values. */
static double initial_value(uint64_t seed, long row, long col)
{
    return (double)(mix(mix(mix(seed) + (uint64_t)row) + (uint64_t)col) >> 40) * 0x1p-24;
}

static void compare_inexact(double expected, double found, long row, long col, double tolerance, struct comparison *sum)
{
    double delta = fabs(found - expected);
    double error = INFINITY; /* also for a NaN, and where 0 is expected */

    if (isfinite(delta) && expected != 0)
        error = delta / fabs(expected);
    sum->inexact++;
    sum->max_error = fmax(sum->max_error, error);
    if (tolerance > 0 && error <= tolerance)
        return;
    if (sum->wrong++ > 0)
        return;
    sum->row = row;
    sum->col = col;
    sum->expected = expected;
    sum->found = found;
}

#define REAL float
#define NAME(f) f##_sp
#include "real_impl.h"
#undef REAL
#undef NAME

#define REAL double
#define NAME(f) f##_dp
#include "real_impl.h"

const struct real real_sp = {
    .name = "sp",
    .size = sizeof(float),
    .fill = fill_sp,
    .set = set_sp,
    .sweep = sweep_sp,
    .compare = compare_sp,
};

const struct real real_dp = {
    .name = "dp",
    .size = sizeof(double),
    .fill = fill_dp,
    .set = set_dp,
    .sweep = sweep_dp,
    .compare = compare_dp,
};
