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
static double noise(uint64_t seed, long row, long col)
{
    return (double)(mix(mix(mix(seed) + (uint64_t)row) + (uint64_t)col) >> 40) * 0x1p-24;
}

/* Stripes at the foot of the plate, the finer the farther to the right. */
static bool in_stripe(double x)
{
    return fmod(4 * x + 24 * x * x, 1) < 0.5;
}

static bool in_disc(double down, double right, double row, double col, double radius)
{
    return hypot(down - row, right - col) < radius;
}

/* Degrees: hot rings in the middle, discs of other heats in the corners, stripes below, on a plate of 20 degrees. Lengths
 * are shares of the shorter side. */
static double plate(const struct field *field, long row, long col)
{
    double side = (double)(field->rows < field->cols ? field->rows : field->cols);
    double tall = (double)field->rows / side, broad = (double)field->cols / side;
    double down = ((double)row + 0.5) / side, right = ((double)col + 0.5) / side;
    double from_middle = hypot(down - tall / 2, right - broad / 2);

    if (tall - down > 0.05 && tall - down < 0.11 && right > 0.05 && broad - right > 0.05)
        return in_stripe((right - 0.05) / (broad - 0.1)) ? 100 : 20;
    if (from_middle < 0.05 || (from_middle > 0.12 && from_middle < 0.17) || (from_middle > 0.25 && from_middle < 0.28))
        return 100;
    if (in_disc(down, right, 0.17, 0.17, 0.09))
        return 80;
    if (in_disc(down, right, 0.17, broad - 0.17, 0.09))
        return 60;
    if (in_disc(down, right, tall - 0.27, 0.17, 0.09))
        return 40;
    return in_disc(down, right, tall - 0.27, broad - 0.17, 0.09) ? 0 : 20;
}

static double initial_value(const struct field *field, long row, long col)
{
    return field->plate ? plate(field, row, col) : noise(field->seed, row, col);
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
