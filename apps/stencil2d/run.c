/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One run: tiles on the devices, iterations, times.
 */
#include <math.h>
#include <shmem.h>
#include <stdlib.h>

#include "stencil2d.h"

/* Rows are prepared and copied in pieces of about this size, whatever the size of the tile. */
#define UPLOAD_BYTES ((size_t)16 << 20)

/* Row r of the tile, -1 and rows included, from its halo on: what the first exchange must bring is NaN. */
static void initial_row(const struct run *run, int r, char *dest)
{
    const struct tile *tile = &run->tile;
    const struct real *real = run->real;
    bool north = r < 0;
    bool south = r == tile->rows;
    double border = run->opt->halo_value;
    char *west = dest + (run->grid.lead - 1) * real->size;
    char *cells = west + real->size;
    char *east = cells + (size_t)tile->cols * real->size;

    real->set(dest, 0, (long)run->grid.pitch);
    if (north || south)
        real->set(cells, tile->neighbor[north ? NORTH : SOUTH] < 0 ? border : NAN, tile->cols);
    else
        real->fill(cells, run->opt->seed, tile->first_row + r, tile->first_col, tile->cols);
    real->set(west, tile->neighbor[WEST] < 0 ? border : NAN, 1);
    real->set(east, tile->neighbor[EAST] < 0 ? border : NAN, 1);
}

/* Both buffers get the initial tile, since the border must be in both. */
static void upload_initial(struct run *run)
{
    size_t row_bytes = run->grid.pitch * run->real->size;
    int total = run->tile.rows + 2;
    size_t piece = UPLOAD_BYTES / row_bytes < 1 ? 1 : UPLOAD_BYTES / row_bytes;
    int rows = piece > (size_t)total ? total : (int)piece;
    char *rows_buf = malloc((size_t)rows * row_bytes);

    if (!rows_buf)
        die("no host memory for %zu bytes", (size_t)rows * row_bytes);
    for (int first = 0; first < total; first += rows) {
        int n = total - first < rows ? total - first : rows;

        for (int i = 0; i < n; i++)
            initial_row(run, first + i - 1, rows_buf + (size_t)i * row_bytes);
        for (int b = 0; b < 2; b++)
            run->ops->upload(run->dev, run->buf[b], (size_t)first * row_bytes, rows_buf, (size_t)n * row_bytes);
    }
    free(rows_buf);
}

void run_open(struct run *run)
{
    for (int i = 0; i < 2; i++)
        run->buf[i] = run->ops->alloc(run->dev, run->grid.elements * run->real->size);
    run->exchange->open(run);
}

void run_close(struct run *run)
{
    run->exchange->close(run);
    for (int i = 0; i < 2; i++)
        run->ops->free(run->dev, run->buf[i]);
}

static void launch(struct run *run)
{
    const struct sweep sweep = {
        .in = run->buf[run->cur],
        .out = run->buf[!run->cur],
        .element_size = run->real->size,
        .origin = run->grid.origin,
        .pitch = run->grid.pitch,
        .rows = run->tile.rows,
        .cols = run->tile.cols,
        .weights = { run->opt->weights[0], run->opt->weights[1], run->opt->weights[2] },
    };

    run->ops->launch(run->dev, &sweep);
}

/* Adds up the time of the phases; a wait for a slower PE counts as communication. */
static void iterate(struct run *run, long iterations, struct result *result)
{
    for (long i = 0; i < iterations; i++) {
        double start = now();
        double exchanged;

        run->exchange->step(run);
        exchanged = now();
        launch(run);
        run->ops->finish(run->dev);
        run->cur = !run->cur;
        result->comm_seconds += exchanged - start;
        result->kernel_seconds += now() - exchanged;
        progress_line(&run->progress, run->exchange->name, i + 1, iterations);
    }
}

/* Start from the initial matrix: no PE may send before all have it. */
static void reset(struct run *run)
{
    run->cur = 0;
    upload_initial(run);
    shmem_barrier_all();
}

static void take_slowest(struct result *result)
{
    double *times = symmetric_alloc(6 * sizeof(*times));

    times[0] = result->seconds;
    times[1] = result->kernel_seconds;
    times[2] = result->comm_seconds;
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &times[3], &times[0], 3);
    result->seconds = times[3];
    result->kernel_seconds = times[4];
    result->comm_seconds = times[5];
    shmem_free(times);
}

void run_iterations(struct run *run, struct result *result)
{
    struct result discarded = { 0 };
    double start;

    *result = (struct result){ 0 };
    run->progress = now();
    if (run->opt->warmup > 0) {
        reset(run);
        iterate(run, run->opt->warmup, &discarded);
        shmem_barrier_all();
    }
    reset(run);
    start = now();
    iterate(run, run->opt->iterations, result);
    result->seconds = now() - start;
    take_slowest(result);
}
