/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What depends on the precision of the matrix, as one table for float and one for double.
 */
#ifndef STENCIL2D_REAL_H
#define STENCIL2D_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Result of comparing cells with the reference. */
struct comparison {
    long wrong;             /* cells outside the tolerance              */
    long inexact;           /* cells that differ in any bit             */
    long not_finite;        /* cells whose expected value is Inf or NaN */
    double max_error;       /* largest relative error                   */
    long row, col;          /* of the first wrong cell                  */
    double expected, found; /* there                                    */
};

/* The initial matrix. Noise, in [0, 1), shows any cell that is wrong. The plate, in degrees, shows what an iteration does:
 * shapes of several sizes flow apart, the finest first. */
struct field {
    bool plate;
    uint64_t seed;   /* of the noise                 */
    long rows, cols; /* of the matrix, for the plate */
};

struct real {
    const char *name;
    size_t size;

    /* Initial value of n cells of the matrix, from (row, col) on; any cut of the matrix gives the same values. */
    void (*fill)(void *dest, const struct field *field, long row, long col, long n);
    void (*set)(void *dest, double value, long n);

    /* One iteration of the serial reference over rows x cols cells; both matrices have a border of one cell. */
    void (*sweep)(const void *in, void *out, long rows, long cols, const double weights[3]);

    /* Compare n cells of the matrix from (row, col) on. */
    void (*compare)(const void *expected, const void *found, long row, long col, long n, double tolerance,
                    struct comparison *sum);
};

extern const struct real real_sp, real_dp;

#endif
