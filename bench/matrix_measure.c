/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a cell of gpu_matrix is checked and measured: all ways in blocks that take turns, and the median of each.
 */
#include "tests/osu/gather.h"
#include "matrix.h"
#include "tests/osu/shmem_flavour.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_CALLS = 200 }; /* in a block */

static long told_count[MATRIX_WAYS]; /* symmetric: by PE 0 to PE 1 */

static bool is_possible(const struct matrix *matrix, const struct matrix_way *way, size_t size)
{
    return (way->act || way->timed) && (!way->possible || way->possible(matrix, size));
}

/* Both PEs: microseconds of `count` calls, on PE 0. */
static double once(struct matrix *matrix, const struct matrix_way *way, size_t size, long count)
{
    if (way->timed)
        return way->timed(matrix, size, count);
    shmem_barrier_all();
    if (matrix->session.me != 0)
        return 0;
    double start = now_us();
    way->act(matrix, size, count);
    return now_us() - start;
}

/* One call with new contents; whether the bytes were right, on PE 0. */
static bool is_right(struct matrix *matrix, const struct matrix_call *call, enum matrix_column column, size_t size)
{
    call->prepare(matrix, call->span(size));
    shmem_barrier_all();
    once(matrix, &call->way[column], size, 1);
    shmem_barrier_all();
    bool right = call->right(matrix, size);
    return osu_gather(!right).sum == 0;
}

/* Both PEs: how many calls make a block, which PE 0 finds out by one. */
static long choose_count(struct matrix *matrix, const struct matrix_call *call, enum matrix_column column, size_t size)
{
    double us = once(matrix, &call->way[column], size, 1);
    if (matrix->session.me == 0) {
        double count = us > 0 ? matrix->block_us / us : MOST_CALLS;
        told_count[column] = count < 1 ? 1 : count > MOST_CALLS ? MOST_CALLS : (long)count;
        shmem_long_p(&told_count[column], told_count[column], 1);
    }
    shmem_barrier_all();
    return told_count[column];
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, MATRIX_ROUNDS, sizeof *values, by_value);
    return values[MATRIX_ROUNDS / 2];
}

struct matrix_cell matrix_measure(struct matrix *matrix, const struct matrix_call *call, size_t size)
{
    struct matrix_cell cell = {.right = true};
    double us[MATRIX_WAYS][MATRIX_ROUNDS];
    long count[MATRIX_WAYS] = {0};
    for (int column = MATRIX_MAPPED; column <= MATRIX_BY_HAND; column++)
        cell.right &= is_right(matrix, call, column, size);
    for (int column = 0; column < MATRIX_WAYS; column++)
        count[column] = is_possible(matrix, &call->way[column], size) ? choose_count(matrix, call, column, size) : 0;
    for (int round = 0; round < MATRIX_ROUNDS; round++)
        for (int column = 0; column < MATRIX_WAYS; column++)
            us[column][round] = count[column] ? once(matrix, &call->way[column], size, count[column]) : NAN;
    shmem_barrier_all();
    for (int column = 0; column < MATRIX_WAYS; column++)
        cell.us[column] = count[column] ? median(us[column]) / (double)count[column] / (double)call->parts(size) : NAN;
    return cell;
}
