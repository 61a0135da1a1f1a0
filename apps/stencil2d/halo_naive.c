/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Halo exchange as it is done without mapped buffers: copy out to the symmetric heap, put, barrier, copy in.
 * Rows first, then columns with the halo rows, as in halo_shmmap.c.
 *
 * The staging area is one array of eight lines: what goes to, and what came from, each of the four sides. The barrier
 * of the columns separates two uses of a row's line, the barrier of the rows two uses of a column's.
 */
#include <shmem.h>

#include "stencil2d.h"

static const int opposite[SIDES] = { [NORTH] = SOUTH, [SOUTH] = NORTH, [WEST] = EAST, [EAST] = WEST };

/* Long enough for a row and for a column of the largest tile. */
static size_t line_bytes(const struct run *run)
{
    int longest = run->grid.max_rows + 2 > run->grid.max_cols ? run->grid.max_rows + 2 : run->grid.max_cols;

    return (size_t)longest * run->real->size;
}

static char *line_out(const struct run *run, int side)
{
    return run->staging + (size_t)side * line_bytes(run);
}

static char *line_in(const struct run *run, int side)
{
    return run->staging + (size_t)(SIDES + side) * line_bytes(run);
}

/* The outermost cells at a side (halo 0), or the halo there (halo 1). */
static struct block edge(const struct run *run, int side, int halo)
{
    const struct grid *grid = &run->grid;
    size_t size = run->real->size;
    bool is_row = side == NORTH || side == SOUTH;
    ptrdiff_t row = side == NORTH ? -halo : side == SOUTH ? run->tile.rows - 1 + halo : -1;
    ptrdiff_t col = side == WEST ? -halo : side == EAST ? run->tile.cols - 1 + halo : 0;
    ptrdiff_t index = (ptrdiff_t)grid->origin + row * (ptrdiff_t)grid->pitch + col;

    return (struct block){
        .offset = (size_t)index * size,
        .pitch = grid->pitch * size,
        .width = is_row ? (size_t)run->tile.cols * size : size,
        .height = is_row ? 1 : (size_t)run->tile.rows + 2,
    };
}

static void send(const struct run *run, int side)
{
    struct block block = edge(run, side, 0);

    if (run->tile.neighbor[side] < 0)
        return;
    run->ops->download_2d(run->dev, run->buf[run->cur], &block, line_out(run, side));
    shmem_putmem(line_in(run, opposite[side]), line_out(run, side), block.width * block.height,
                 run->tile.neighbor[side]);
}

static void receive(const struct run *run, int side)
{
    struct block block = edge(run, side, 1);

    if (run->tile.neighbor[side] >= 0)
        run->ops->upload_2d(run->dev, run->buf[run->cur], &block, line_in(run, side));
}

static void step(struct run *run)
{
    send(run, NORTH);
    send(run, SOUTH);
    shmem_barrier_all();
    receive(run, NORTH);
    receive(run, SOUTH);
    send(run, WEST);
    send(run, EAST);
    shmem_barrier_all();
    receive(run, WEST);
    receive(run, EAST);
}

static void open_staging(struct run *run)
{
    run->staging = symmetric_alloc(2 * SIDES * line_bytes(run));
}

static void close_staging(struct run *run)
{
    shmem_free(run->staging);
}

const struct exchange exchange_naive = {
    .name = "naive",
    .open = open_staging,
    .step = step,
    .close = close_staging,
};
