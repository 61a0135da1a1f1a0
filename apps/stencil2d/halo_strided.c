/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Halo exchange between mapped matrices: the library's strided puts take the edges of a tile from where they lie to
 * where the neighbour has its halo. Nothing is packed: a column travels as rows of a cell, W columns as rows of W cells.
 * So kernels write and read no messages, and the copy does the work that the kernels of the other variants do.
 *
 * Why nothing is overwritten too early: the halo of the buffer that a round begins with is written by the puts between
 * the two barriers, when all PEs have finished the round before. If W is 1 the first barrier is not needed: the round
 * before did not touch that halo.
 */
#include <shmemx.h>

#include "stencil2d.h"

static size_t bytes_at(const struct run *run, int row, int col)
{
    const struct grid *grid = &run->grid;

    return (size_t)((long)grid->origin + row * (long)grid->pitch + col) * run->real->size;
}

/* The cells of the halo of a tile in a direction, as many as the edge that fills them. */
static void halo_corner(const struct run *run, const struct tile *tile, int direction, int *row, int *col)
{
    const int v = direction / 3, h = direction % 3, width = run->grid.halo_width;

    *row = v == 0 ? -width : v == 1 ? 0 : tile->rows;
    *col = h == 0 ? -width : h == 1 ? 0 : tile->cols;
}

static void put_edge(const struct run *run, const struct local_tile *t, int direction)
{
    const struct neighbor *neighbor = &t->shape.neighbor[direction];
    const struct rectangle edge = edge_cells(&run->grid, &t->shape, direction);
    const size_t pitch = run->grid.pitch * run->real->size;
    const shmemx_box_t box = {
        .width = (size_t)edge.cols * run->real->size,
        .rows = (size_t)edge.rows,
        .layers = 1,
        .dest_row_pitch = pitch,
        .source_row_pitch = pitch,
    };
    struct tile there;
    int row, col;

    grid_tile(&run->grid, neighbor->pe, neighbor->number, &there);
    halo_corner(run, &there, opposite(direction), &row, &col);
    shmemx_put_box_nbi(run->tiles[neighbor->number].mapped_buf[run->cur] + bytes_at(run, row, col),
                       t->mapped_buf[run->cur] + bytes_at(run, edge.row, edge.col), &box, neighbor->pe);
}

static void step_strided(struct run *run)
{
    if (run->grid.halo_width > 1)
        shmem_barrier_all();
    for (int t = 0; t < run->n_tiles; t++)
        for (int d = 0; d < DIRECTIONS; d++)
            if (has_neighbor(&run->tiles[t].shape, d))
                put_edge(run, &run->tiles[t], d);
    shmem_barrier_all();
}

static void compute_from_matrix(struct run *run, int iterations)
{
    for (int i = 0; i < iterations; i++) {
        for (int t = 0; t < run->n_tiles; t++)
            compute_unframed(run, &run->tiles[t], i, iterations);
        run->cur = !run->cur;
    }
}

static void open_strided(struct run *run)
{
    const size_t bytes = run->grid.elements * run->real->size;

    for (int t = 0; t < run->n_tiles; t++)
        for (int b = 0; b < 2; b++) {
            struct local_tile *tile = &run->tiles[t];

            tile->mapped_buf[b] = shmmap(tile->buf[b], bytes, run->ops->memtype);
            if (!tile->mapped_buf[b])
                quit_all("shmmap of %zu bytes: %s; --naive runs without it", bytes, shmemx_strerror());
        }
}

static void close_strided(struct run *run)
{
    for (int t = run->n_tiles - 1; t >= 0; t--)
        for (int b = 1; b >= 0; b--) {
            shmumap(run->tiles[t].mapped_buf[b]);
            run->tiles[t].mapped_buf[b] = NULL;
        }
}

const struct exchange exchange_strided = {
    .variant = "strided",
    .sync = "barrier",
    .open = open_strided,
    .step = step_strided,
    .compute = compute_from_matrix,
    .close = close_strided,
};
