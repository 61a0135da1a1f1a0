/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tiles of this PE in the memory of their devices, and what is in them before the first iteration.
 */
#include <math.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

#include "stencil2d.h"

/* Rows are prepared and copied in pieces of about this size, whatever the size of the tile. */
#define UPLOAD_BYTES ((size_t)16 << 20)

/* Cells of the halo in a direction, before an exchange: a neighbour must bring them, or they are the border. */
static void set_halo(const struct run *run, const struct tile *tile, int direction, char *dest, int n)
{
    run->real->set(dest, has_neighbor(tile, direction) ? NAN : run->opt->halo_value, n);
}

struct field initial_field(const struct run *run)
{
    return (struct field){
        .plate = run->opt->plate,
        .seed = run->opt->seed,
        .rows = run->grid.rows,
        .cols = run->grid.cols,
    };
}

/* Fills row r of the tile, from -W to rows + W - 1. */
static void initial_row(const struct run *run, const struct tile *tile, int r, char *dest)
{
    const struct real *real = run->real;
    struct field field = initial_field(run);
    int width = run->grid.halo_width;
    int west = r < 0 ? NORTH_WEST : r < tile->rows ? WEST : SOUTH_WEST;
    char *cells = dest + run->grid.lead * real->size;

    real->set(dest, 0, (long)run->grid.pitch);
    set_halo(run, tile, west, cells - (size_t)width * real->size, width);
    if (west == WEST)
        real->fill(cells, &field, tile->first_row + r, tile->first_col, tile->cols);
    else
        set_halo(run, tile, west + 1, cells, tile->cols);
    set_halo(run, tile, west + 2, cells + (size_t)tile->cols * real->size, width);
}

/* Both buffers get the initial tile, since the border must be in both. */
static void set_matrix(const struct run *run, const struct local_tile *t)
{
    size_t row_bytes = run->grid.pitch * run->real->size;
    int width = run->grid.halo_width;
    int total = t->shape.rows + 2 * width;
    size_t piece = UPLOAD_BYTES / row_bytes < 1 ? 1 : UPLOAD_BYTES / row_bytes;
    int rows = piece > (size_t)total ? total : (int)piece;
    char *rows_buf = host_alloc((size_t)rows * row_bytes);

    for (int first = 0; first < total; first += rows) {
        int n = total - first < rows ? total - first : rows;

        for (int i = 0; i < n; i++)
            initial_row(run, &t->shape, first + i - width, rows_buf + (size_t)i * row_bytes);
        for (int b = 0; b < 2; b++)
            run->ops->write(t->dev, t->buf[b], (size_t)first * row_bytes, rows_buf, (size_t)n * row_bytes);
    }
    free(rows_buf);
}

static void fill_piece(const struct run *run, const struct tile *tile, int direction, char *piece)
{
    struct rectangle edge = edge_cells(&run->grid, tile, direction);
    struct field field = initial_field(run);

    for (int r = 0; r < edge.rows; r++)
        run->real->fill(piece + (size_t)r * (size_t)edge.cols * run->real->size, &field, tile->first_row + edge.row + r,
                        tile->first_col + edge.col, edge.cols);
}

/* Fills in what the first exchange sends, sets what it must bring to NaN, and clears the words. */
static void set_messages(const struct run *run, struct local_tile *t)
{
    size_t bytes = messages_bytes(run);
    char *messages = host_alloc(bytes);

    memset(messages, 0, bytes);
    run->real->set(messages, NAN, (long)(AREAS * run->grid.area));
    for (int d = 0; d < DIRECTIONS; d++)
        if (has_neighbor(&t->shape, d))
            fill_piece(run, &t->shape, d, messages + piece_offset(run, area_out(run->exchanges + 1), d));
    run->ops->write(t->dev, t->messages, 0, messages, bytes);
    free(messages);
    t->groups_done = 0;
}

void tiles_set_initial(struct run *run)
{
    run->cur = 0;
    run->exchanges_before = run->exchanges;
    for (int i = 0; i < run->n_tiles; i++) {
        set_matrix(run, &run->tiles[i]);
        set_messages(run, &run->tiles[i]);
    }
}

/* In OpenCL's queues the library does all puts, one after the other. */
static void open_beside(const struct run *run, struct local_tile *t)
{
    const int most = run->exchange->in_queues && run->ops->memtype == OSHM_MEMTYPE_CUDA ? MOST_BESIDE : 0;
    int neighbors = 0;

    for (int d = 0; d < DIRECTIONS; d++)
        neighbors += has_neighbor(&t->shape, d);
    for (t->n_beside = 0; t->n_beside < most && t->n_beside < neighbors - 1; t->n_beside++)
        t->beside[t->n_beside] = run->ops->gpu.urgent_queue_open(t->dev);
}

/* Where one queue does all, puts follow kernels at once: the library does small ones in urgent queues by a kernel. */
static struct queue *open_queue(const struct run *run, struct device *dev)
{
    bool is_alone = run->exchange->in_queues && !run->exchange->overlaps;

    return is_alone ? run->ops->gpu.urgent_queue_open(dev) : run->ops->gpu.queue_open(dev);
}

void tiles_open(struct run *run)
{
    for (int i = 0; i < run->n_tiles; i++) {
        struct local_tile *t = &run->tiles[i];

        t->mapped_messages = t->mapped_buf[0] = t->mapped_buf[1] = NULL;
        for (int b = 0; b < 2; b++)
            t->buf[b] = run->ops->alloc(t->dev, run->grid.elements * run->real->size);
        t->messages = run->ops->alloc(t->dev, messages_bytes(run));
        t->queue = open_queue(run, t->dev);
        t->urgent = run->exchange->overlaps ? run->ops->gpu.urgent_queue_open(t->dev) : NULL;
        open_beside(run, t);
        t->kernel = sweep_kernel(run->ops, t->dev, run->real);
    }
}

void tiles_finish(const struct run *run)
{
    for (int i = 0; i < run->n_tiles; i++) {
        run->ops->gpu.finish(run->tiles[i].queue);
        if (run->tiles[i].urgent)
            run->ops->gpu.finish(run->tiles[i].urgent);
        for (int q = 0; q < run->tiles[i].n_beside; q++)
            run->ops->gpu.finish(run->tiles[i].beside[q]);
    }
}

void tiles_close(struct run *run)
{
    for (int i = 0; i < run->n_tiles; i++) {
        struct local_tile *t = &run->tiles[i];

        while (t->n_beside > 0)
            run->ops->gpu.queue_close(t->beside[--t->n_beside]);
        if (t->urgent && t->urgent != t->queue)
            run->ops->gpu.queue_close(t->urgent);
        run->ops->gpu.queue_close(t->queue);
        run->ops->free(t->dev, t->messages);
        for (int b = 0; b < 2; b++)
            run->ops->free(t->dev, t->buf[b]);
    }
}
