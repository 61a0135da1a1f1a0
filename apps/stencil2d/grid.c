/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cutting the matrix into tiles. Each PE has a rectangle of the grid of tiles, so that tiles of one PE are neighbours.
 */
#include <limits.h>

#include "stencil2d.h"

/* A row starts with a pad, so that its first cell, after the halo, is aligned for coalesced access; so do pieces. */
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

/* The two factors of n that are nearest to each other; the larger one cuts the longer side. Rows win a tie, since they
 * are contiguous. */
static void near_square(int n, long rows, long cols, int *row_parts, int *col_parts)
{
    int small = 1;
    int large;

    for (int f = 2; (long)f * f <= n; f++)
        if (n % f == 0)
            small = f;
    large = n / small;
    *row_parts = rows >= cols ? large : small;
    *col_parts = rows >= cols ? small : large;
}

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static int tile_rows(const struct grid *grid)
{
    return grid->grid_rows * grid->part_rows;
}

static int tile_cols(const struct grid *grid)
{
    return grid->grid_cols * grid->part_cols;
}

/* A piece is as long as the tile in the directions in which its neighbour lies beside it. */
static void lay_out_pieces(struct grid *grid, size_t unit)
{
    grid->area = 0;
    for (int d = 0; d < DIRECTIONS; d++) {
        size_t rows = d / 3 == 1 ? (size_t)grid->max_rows : (size_t)grid->halo_width;
        size_t cols = d % 3 == 1 ? (size_t)grid->max_cols : (size_t)grid->halo_width;

        grid->piece[d] = grid->area;
        if (d != HERE)
            grid->area += round_up(rows * cols, unit);
    }
}

static void lay_out(struct grid *grid, size_t element_size)
{
    size_t unit = ROW_ALIGNMENT / element_size;
    size_t width = (size_t)grid->halo_width;
    size_t pack = CUDA_PACK_BYTES / element_size; /* the kernel reads whole packs and the cells beside them */

    grid->max_rows = part_size(grid->rows, tile_rows(grid), 0);
    grid->max_cols = part_size(grid->cols, tile_cols(grid), 0);
    grid->lead = round_up(width + pack, unit);
    grid->pitch = round_up(grid->lead + (size_t)grid->max_cols + width + pack, unit);
    grid->origin = width * grid->pitch + grid->lead;
    grid->elements = ((size_t)grid->max_rows + 2 * width) * grid->pitch;
    lay_out_pieces(grid, unit);
}

/* Whether tiles are narrower than their halo, which comes from the next tile alone. */
static bool is_too_narrow(long cells, int tiles, int halo_width)
{
    return tiles > 1 && cells / tiles < halo_width;
}

const char *grid_make(const struct options *opt, int pes, size_t element_size, struct grid *grid)
{
    *grid = (struct grid){.grid_rows = opt->grid_rows, .grid_cols = opt->grid_cols, .halo_width = opt->halo_width};
    if (grid->grid_rows == 0)
        near_square(pes, opt->rows, opt->cols, &grid->grid_rows, &grid->grid_cols);
    if ((long)grid->grid_rows * grid->grid_cols != pes)
        return "--grid PxQ: P times Q must be the number of PEs";
    grid->rows = opt->rows * (opt->per_pe ? grid->grid_rows : 1);
    grid->cols = opt->cols * (opt->per_pe ? grid->grid_cols : 1);
    if (grid->rows > INT_MAX || grid->cols > INT_MAX)
        return "the matrix has more than 2147483647 rows or columns";
    near_square(opt->gpus_per_pe, grid->rows / grid->grid_rows, grid->cols / grid->grid_cols, &grid->part_rows,
                &grid->part_cols);
    if (grid->rows < tile_rows(grid) || grid->cols < tile_cols(grid))
        return "the matrix has fewer rows or columns than the grid of tiles: every GPU of every PE needs a cell";
    if (is_too_narrow(grid->rows, tile_rows(grid), grid->halo_width) ||
        is_too_narrow(grid->cols, tile_cols(grid), grid->halo_width))
        return "--halo-width: the halo is wider than the tiles; use a larger matrix, fewer PEs or a narrower halo";
    lay_out(grid, element_size);
    return NULL;
}

static struct neighbor neighbor_at(const struct grid *grid, int row, int col)
{
    if (row < 0 || row >= tile_rows(grid) || col < 0 || col >= tile_cols(grid))
        return (struct neighbor){.pe = -1};
    return (struct neighbor){
        .pe = row / grid->part_rows * grid->grid_cols + col / grid->part_cols,
        .number = row % grid->part_rows * grid->part_cols + col % grid->part_cols,
    };
}

void grid_tile(const struct grid *grid, int pe, int number, struct tile *tile)
{
    int row = pe / grid->grid_cols * grid->part_rows + number / grid->part_cols;
    int col = pe % grid->grid_cols * grid->part_cols + number % grid->part_cols;

    *tile = (struct tile){
        .pe = pe,
        .number = number,
        .grid_row = row,
        .grid_col = col,
        .first_row = part_start(grid->rows, tile_rows(grid), row),
        .first_col = part_start(grid->cols, tile_cols(grid), col),
        .rows = part_size(grid->rows, tile_rows(grid), row),
        .cols = part_size(grid->cols, tile_cols(grid), col),
    };
    for (int d = 0; d < DIRECTIONS; d++)
        tile->neighbor[d] = neighbor_at(grid, row + d / 3 - 1, col + d % 3 - 1);
    tile->neighbor[HERE].pe = -1;
}

bool has_neighbor(const struct tile *tile, int direction)
{
    return tile->neighbor[direction].pe >= 0;
}

int opposite(int direction)
{
    return DIRECTIONS - 1 - direction;
}

struct rectangle edge_cells(const struct grid *grid, const struct tile *tile, int direction)
{
    int v = direction / 3;
    int h = direction % 3;
    int width = grid->halo_width;

    return (struct rectangle){
        .row = v == 2 ? tile->rows - width : 0,
        .col = h == 2 ? tile->cols - width : 0,
        .rows = v == 1 ? tile->rows : width,
        .cols = h == 1 ? tile->cols : width,
    };
}
