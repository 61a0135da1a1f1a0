/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Check against a serial reference: PE 0 computes the whole matrix on one CPU core and compares it with the tiles,
 * which it fetches piece by piece through a small buffer in the symmetric heap. No mapped buffer is involved in
 * that, so a fault of a mapping cannot hide itself.
 */
#include <math.h>
#include <shmem.h>
#include <stdlib.h>

#include "stencil2d.h"

#define FETCH_BYTES ((size_t)1 << 20)

static size_t reference_pitch(const struct grid *grid)
{
    return (size_t)grid->cols + 2;
}

static char *reference_cell(const struct run *run, void *matrix, long row, long col)
{
    size_t index = (size_t)(row + 1) * reference_pitch(&run->grid) + (size_t)(col + 1);

    return (char *)matrix + index * run->real->size;
}

static void *initial_matrix(const struct run *run)
{
    const struct grid *grid = &run->grid;
    struct field field = initial_field(run);
    size_t pitch = reference_pitch(grid);
    size_t bytes = ((size_t)grid->rows + 2) * pitch * run->real->size;
    void *matrix = malloc(bytes);

    if (!matrix)
        die("no host memory for the reference, %zu bytes: use a smaller matrix or no --verify", bytes);
    for (long r = -1; r <= grid->rows; r++)
        run->real->set(reference_cell(run, matrix, r, -1), run->opt->halo_value, (long)pitch);
    for (long r = 0; r < grid->rows; r++)
        run->real->fill(reference_cell(run, matrix, r, 0), &field, r, 0, grid->cols);
    return matrix;
}

static void compute_reference(struct run *run, struct reference *ref)
{
    void *in = initial_matrix(run);
    void *out = initial_matrix(run);

    for (long i = 0; i < run->opt->iterations; i++) {
        void *swap = in;

        run->real->sweep(in, out, run->grid.rows, run->grid.cols, run->opt->weights);
        in = out;
        out = swap;
        progress_line(&run->progress, "serial reference, iteration", i + 1, run->opt->iterations);
    }
    free(out);
    free(ref->matrix);
    *ref = (struct reference){.real = run->real, .matrix = in};
}

/* Rows of tile that piece holds when it starts at row first. */
static int piece_rows(const struct tile *tile, int first, int piece)
{
    int left = tile->rows - first;

    return left < 0 ? 0 : left < piece ? left : piece;
}

static size_t rows_bytes(const struct run *run, const struct tile *tile, int rows)
{
    return (((size_t)rows - 1) * run->grid.pitch + (size_t)tile->cols) * run->real->size;
}

/* Compares rows of a tile from row first on, which have been copied to local. */
static void compare_piece(const struct run *run, struct reference *ref, const struct tile *tile, int first, int rows,
                          const char *local, struct comparison *sum)
{
    for (int r = 0; r < rows; r++) {
        long row = tile->first_row + first + r;

        run->real->compare(reference_cell(run, ref->matrix, row, tile->first_col),
                           local + (size_t)r * run->grid.pitch * run->real->size, row, tile->first_col, tile->cols,
                           run->opt->tolerance, sum);
    }
}

/* Compares the same rows of the tiles with that number on all PEs. */
static void compare_rows(struct run *run, struct reference *ref, int number, int first, int piece, char *symmetric,
                         char *local, struct comparison *sum)
{
    const struct local_tile *own = &run->tiles[number];
    size_t index = run->grid.origin + (size_t)first * run->grid.pitch;
    int rows = piece_rows(&own->shape, first, piece);

    if (rows > 0)
        run->ops->read(own->dev, symmetric, own->buf[run->cur], index * run->real->size,
                       rows_bytes(run, &own->shape, rows));
    shmem_barrier_all();
    for (int pe = 0; shmem_my_pe() == 0 && pe < shmem_n_pes(); pe++) {
        struct tile tile;

        grid_tile(&run->grid, pe, number, &tile);
        rows = piece_rows(&tile, first, piece);
        if (rows > 0) {
            shmem_getmem(local, symmetric, rows_bytes(run, &tile, rows), pe);
            compare_piece(run, ref, &tile, first, rows, local, sum);
        }
    }
    shmem_barrier_all();
}

static void compare_all(struct run *run, struct reference *ref, struct comparison *sum)
{
    size_t row_bytes = run->grid.pitch * run->real->size;
    int piece = FETCH_BYTES / row_bytes < 1 ? 1 : (int)(FETCH_BYTES / row_bytes);
    char *symmetric = symmetric_alloc((size_t)piece * row_bytes);
    char *local = host_alloc((size_t)piece * row_bytes);

    for (int number = 0; number < run->n_tiles; number++)
        for (int first = 0; first < run->grid.max_rows; first += piece)
            compare_rows(run, ref, number, first, piece, symmetric, local, sum);
    free(local);
    shmem_free(symmetric);
}

static enum verdict judge(const struct comparison *sum)
{
    if (sum->wrong > 0 || sum->not_finite > 0)
        return FAILED;
    return sum->inexact > 0 ? WITHIN_TOLERANCE : EXACT;
}

/* The other PEs take over the verdict of PE 0. */
static enum verdict agree(enum verdict verdict)
{
    return (enum verdict)job_max(job_rank() == 0 ? verdict : NOT_VERIFIED);
}

void verify(struct run *run, struct reference *ref, struct result *result)
{
    if (shmem_my_pe() == 0 && ref->real != run->real)
        compute_reference(run, ref);
    compare_all(run, ref, &result->comparison);
    result->verdict = agree(judge(&result->comparison));
}

enum verdict verify_own_tiles(struct run *run, struct reference *ref, struct comparison *sum)
{
    if (ref->real != run->real)
        compute_reference(run, ref);
    for (int i = 0; i < run->n_tiles; i++) {
        const struct local_tile *t = &run->tiles[i];
        char *local = host_alloc(rows_bytes(run, &t->shape, t->shape.rows));

        run->ops->read(t->dev, local, t->buf[run->cur], run->grid.origin * run->real->size,
                       rows_bytes(run, &t->shape, t->shape.rows));
        compare_piece(run, ref, &t->shape, 0, t->shape.rows, local, sum);
        free(local);
    }
    return judge(sum);
}

void inject_error(struct run *run)
{
    const struct local_tile *t = &run->tiles[run->n_tiles - 1];
    size_t offset = (run->grid.origin + (size_t)(t->shape.rows / 2) * run->grid.pitch) * run->real->size;
    char cell[sizeof(double)];

    if (job_rank() != job_size() - 1)
        return;
    run->ops->read(t->dev, cell, t->buf[run->cur], offset, run->real->size);
    if (run->opt->tolerance > 0)
        run->real->set(cell, NAN, 1);
    else
        cell[0] ^= 1; /* a single bit must be noticed */
    run->ops->write(t->dev, t->buf[run->cur], offset, cell, run->real->size);
}
