/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Halo exchange as it is done without mapped buffers: copy out to the symmetric heap, put, barrier, copy in.
 *
 * The staging area has the same layout as the messages of the tiles. What comes in has an area for even and one for odd
 * exchanges there, too: the barrier of exchange k + 1 separates the copies of k from the puts of k + 2.
 */
#include <shmem.h>

#include "stencil2d.h"

static char *staged(const struct run *run, int tile, int area, int direction)
{
    return run->staging + (size_t)tile * AREAS * run->grid.area * run->real->size + piece_offset(run, area, direction);
}

static void send(const struct run *run, const struct local_tile *t, int direction)
{
    const struct neighbor *neighbor = &t->shape.neighbor[direction];
    char *out = staged(run, t->shape.number, area_out(run->exchanges), direction);
    size_t bytes = piece_bytes(run, t, direction);

    run->ops->read(t->dev, out, t->messages, piece_offset(run, area_out(run->exchanges), direction), bytes);
    shmem_putmem(staged(run, neighbor->number, area_in(run->exchanges), opposite(direction)), out, bytes, neighbor->pe);
}

static void receive(const struct run *run, const struct local_tile *t, int direction)
{
    int area = area_in(run->exchanges);

    run->ops->write(t->dev, t->messages, piece_offset(run, area, direction),
                    staged(run, t->shape.number, area, direction), piece_bytes(run, t, direction));
}

static void for_neighbors(const struct run *run,
                          void (*function)(const struct run *run, const struct local_tile *t, int direction))
{
    for (int t = 0; t < run->n_tiles; t++)
        for (int d = 0; d < DIRECTIONS; d++)
            if (has_neighbor(&run->tiles[t].shape, d))
                function(run, &run->tiles[t], d);
}

static void step(struct run *run)
{
    for_neighbors(run, send);
    shmem_barrier_all();
    for_neighbors(run, receive);
}

static void open_staging(struct run *run)
{
    run->staging = symmetric_alloc((size_t)run->n_tiles * AREAS * run->grid.area * run->real->size);
}

static void close_staging(struct run *run)
{
    shmem_free(run->staging);
}

const struct exchange exchange_naive = {
    .variant = "naive",
    .sync = "barrier",
    .open = open_staging,
    .step = step,
    .close = close_staging,
};
