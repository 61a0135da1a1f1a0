/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Halo exchange between mapped GPU buffers: a put goes from this PE's tile straight into the halo of its neighbour.
 *
 * First the rows, then the columns together with the halo rows that have just arrived: so the corners of the
 * diagonal neighbours come with the columns and need no messages of their own.
 *
 *     +--+--------+--+
 *     |  | north  |  |     rows:    cells 0 .. cols-1
 *     +--+--------+--+     columns: cells -1 .. rows, halo rows included
 *     |we|        |ea|
 *     |st|        |st|
 *     +--+--------+--+
 *     |  | south  |  |
 *     +--+--------+--+
 *
 * Why nothing is overwritten too early: exchange k fills the halo of one buffer, kernel k reads it and writes the
 * inside of the other. A neighbour starts exchange k+2, which fills the same halo again, only after it got the signal
 * (or passed the barrier) of exchange k+1, which this PE sends after kernel k has finished.
 */
#include <shmemx.h>

#include "stencil2d.h"

static const int opposite[SIDES] = { [NORTH] = SOUTH, [SOUTH] = NORTH, [WEST] = EAST, [EAST] = WEST };

static void *cell(const struct run *run, int row, int col)
{
    ptrdiff_t index = (ptrdiff_t)run->grid.origin + row * (ptrdiff_t)run->grid.pitch + col;

    return (char *)run->map[run->cur] + index * (ptrdiff_t)run->real->size;
}

/* The row or column of the neighbour's halo that touches this PE. A tile's extent tells where its far halo lies. */
static int far_row(const struct run *run, int side)
{
    struct tile tile;

    grid_tile(&run->grid, run->tile.neighbor[side], &tile);
    return side == NORTH ? tile.rows : -1;
}

static int far_col(const struct run *run, int side)
{
    struct tile tile;

    grid_tile(&run->grid, run->tile.neighbor[side], &tile);
    return side == WEST ? tile.cols : -1;
}

static void put_row(const struct run *run, int side)
{
    int row = side == NORTH ? 0 : run->tile.rows - 1;

    if (run->tile.neighbor[side] < 0)
        return;
    shmem_putmem(cell(run, far_row(run, side), 0), cell(run, row, 0), (size_t)run->tile.cols * run->real->size,
                 run->tile.neighbor[side]);
}

static void put_column(const struct run *run, int side)
{
    int col = side == WEST ? 0 : run->tile.cols - 1;

    if (run->tile.neighbor[side] < 0)
        return;
    run->real->put_strided(cell(run, -1, far_col(run, side)), cell(run, -1, col), (ptrdiff_t)run->grid.pitch,
                           (size_t)run->tile.rows + 2, run->tile.neighbor[side]);
}

static void put_rows(const struct run *run)
{
    put_row(run, NORTH);
    put_row(run, SOUTH);
}

static void put_columns(const struct run *run)
{
    put_column(run, WEST);
    put_column(run, EAST);
}

static void notify(const struct run *run, int side)
{
    if (run->tile.neighbor[side] >= 0)
        shmem_signal_set(&run->signals[opposite[side]], run->exchanges, run->tile.neighbor[side]);
}

static void await(const struct run *run, int side)
{
    if (run->tile.neighbor[side] >= 0)
        shmem_signal_wait_until(&run->signals[side], SHMEM_CMP_GE, run->exchanges);
}

/* Tell both neighbours that their halo is there, then wait for the own one. */
static void meet(const struct run *run, int side, int other_side)
{
    shmem_fence();
    notify(run, side);
    notify(run, other_side);
    await(run, side);
    await(run, other_side);
}

static void step_signal(struct run *run)
{
    run->exchanges++;
    put_rows(run);
    meet(run, NORTH, SOUTH);
    put_columns(run);
    meet(run, WEST, EAST);
}

static void step_barrier(struct run *run)
{
    put_rows(run);
    shmem_barrier_all();
    put_columns(run);
    shmem_barrier_all();
}

static void open_maps(struct run *run)
{
    size_t bytes = run->grid.elements * run->real->size;

    for (int i = 0; i < 2; i++) {
        run->map[i] = shmmap(run->ops->map_object(run->buf[i]), bytes, run->ops->memtype);
        if (!run->map[i])
            quit_all("shmmap of %zu bytes: %s; --naive runs without it", bytes, shmemx_strerror());
    }
    run->exchanges = 0;
    run->signals = shmem_calloc(SIDES, sizeof(*run->signals));
    if (!run->signals)
        die("no memory left in the symmetric heap for signals: set SHMEM_SYMMETRIC_SIZE higher");
}

static void close_maps(struct run *run)
{
    shmem_free(run->signals);
    for (int i = 0; i < 2; i++)
        shmumap(run->map[i]);
}

const struct exchange exchange_shmmap = {
    .name = "shmmap",
    .open = open_maps,
    .step = step_signal,
    .close = close_maps,
};

const struct exchange exchange_shmmap_barrier = {
    .name = "shmmap-barrier",
    .open = open_maps,
    .step = step_barrier,
    .close = close_maps,
};
