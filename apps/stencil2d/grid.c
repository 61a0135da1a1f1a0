/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cutting the matrix into one tile per PE.
 */
#include <limits.h>

#include "stencil2d.h"

/* A row starts with a pad, so that its first cell, after the halo, is aligned for coalesced access. */
#define ROW_ALIGNMENT 128

/* Part i of n cells in p parts: the first n % p parts get one more. */
static long part_start(long n, int p, int i)
{
    long extra = n % p;

    return i * (n / p) + (i < extra ? i : extra);
}

static int part_size(long n, int p, int i)
{
    return (int)(part_start(n, p, i + 1) - part_start(n, p, i));
}

/* The two factors of pes that are nearest to each other; the larger one cuts the longer side. Rows win a tie, since
 * they are contiguous. */
static void near_square(int pes, long rows, long cols, struct grid *grid)
{
    int small = 1;
    int large;

    for (int f = 2; (long)f * f <= pes; f++)
        if (pes % f == 0)
            small = f;
    large = pes / small;
    grid->grid_rows = rows >= cols ? large : small;
    grid->grid_cols = rows >= cols ? small : large;
}

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static void lay_out(struct grid *grid, size_t element_size)
{
    size_t unit = ROW_ALIGNMENT / element_size;

    grid->max_rows = part_size(grid->rows, grid->grid_rows, 0);
    grid->max_cols = part_size(grid->cols, grid->grid_cols, 0);
    grid->lead = unit;
    grid->pitch = round_up(grid->lead + (size_t)grid->max_cols + 1, unit);
    grid->origin = grid->pitch + grid->lead;
    grid->elements = ((size_t)grid->max_rows + 2) * grid->pitch;
}

const char *grid_make(const struct options *opt, int pes, size_t element_size, struct grid *grid)
{
    *grid = (struct grid){ .grid_rows = opt->grid_rows, .grid_cols = opt->grid_cols };
    if (grid->grid_rows == 0)
        near_square(pes, opt->rows, opt->cols, grid);
    if ((long)grid->grid_rows * grid->grid_cols != pes)
        return "--grid PxQ: P times Q must be the number of PEs";
    grid->rows = opt->rows * (opt->per_pe ? grid->grid_rows : 1);
    grid->cols = opt->cols * (opt->per_pe ? grid->grid_cols : 1);
    if (grid->rows > INT_MAX || grid->cols > INT_MAX)
        return "the matrix has more than 2147483647 rows or columns";
    if (grid->rows < grid->grid_rows || grid->cols < grid->grid_cols)
        return "the matrix has fewer rows or columns than the grid of PEs: every PE needs one cell";
    lay_out(grid, element_size);
    return NULL;
}

void grid_tile(const struct grid *grid, int pe, struct tile *tile)
{
    int r = pe / grid->grid_cols;
    int c = pe % grid->grid_cols;

    *tile = (struct tile){
        .grid_row = r,
        .grid_col = c,
        .first_row = part_start(grid->rows, grid->grid_rows, r),
        .first_col = part_start(grid->cols, grid->grid_cols, c),
        .rows = part_size(grid->rows, grid->grid_rows, r),
        .cols = part_size(grid->cols, grid->grid_cols, c),
        .neighbor = {
            [NORTH] = r > 0 ? pe - grid->grid_cols : -1,
            [SOUTH] = r + 1 < grid->grid_rows ? pe + grid->grid_cols : -1,
            [WEST] = c > 0 ? pe - 1 : -1,
            [EAST] = c + 1 < grid->grid_cols ? pe + 1 : -1,
        },
    };
}
