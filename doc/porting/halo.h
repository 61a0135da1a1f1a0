/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What halo_mpi.c and halo_shmem.c share: the kernel, a tile of the matrix, its first values, the checksum. None of it
 * knows how the halo travels.
 *
 * Each iteration replaces every cell of a matrix by the mean of its four neighbours inside a border of zeros. The
 * matrix is cut into equal tiles, one per process. A tile has a halo of one cell, and lives twice in GPU memory.
 */
#ifndef PORTING_HALO_H
#define PORTING_HALO_H

#include "gpu.h"

enum { ROWS = 480, COLS = 480, ITERATIONS = 100 };
enum { NORTH, SOUTH, WEST, EAST, SIDES };

static const int opposite[SIDES] = { SOUTH, NORTH, EAST, WEST };

KERNELS(KERNEL sweep(GLOBAL const float *in, GLOBAL float *out, int rows, int cols) {
    const int pitch = cols + 2;
    const int here = (INDEX / cols + 1) * pitch + INDEX % cols + 1;

    if (INDEX < rows * cols)
        out[here] = 0.25f * ((in[here - pitch] + in[here + pitch]) + (in[here - 1] + in[here + 1]));
})

struct tile {
    int rows, cols;            /* without the halo                        */
    int first_row, first_col;  /* of the matrix                           */
    int neighbour[SIDES];
    DEVICE(float) field[2];    /* before and after an iteration, in turns */
};

/* Cell (row, col); -1 and rows or cols are the halo. */
static inline size_t cell(const struct tile *t, int row, int col)
{
    return (size_t)(row + 1) * (size_t)(t->cols + 2) + (size_t)(col + 1);
}

static inline size_t tile_bytes(const struct tile *t)
{
    return (size_t)(t->rows + 2) * (size_t)(t->cols + 2) * sizeof(float);
}

/* Of how many cells an edge consists. */
static inline int length(const struct tile *t, int side)
{
    return side == NORTH || side == SOUTH ? t->cols : t->rows;
}

/* The outermost cells at a side (halo 0), or the halo there (halo 1): where it begins. */
static inline size_t edge(const struct tile *t, int side, int halo)
{
    const int row = side == NORTH ? -halo : side == SOUTH ? t->rows - 1 + halo : 0;
    const int col = side == WEST ? -halo : side == EAST ? t->cols - 1 + halo : 0;

    return cell(t, row, col);
}

/* 1 if the matrix cannot be cut like that. */
static inline int cut(struct tile *t, int down, int across, int row, int col)
{
    t->rows = ROWS / down;
    t->cols = COLS / across;
    t->first_row = row * t->rows;
    t->first_col = col * t->cols;
    return ROWS % down != 0 || COLS % across != 0;
}

static inline void set_up(struct tile *t)
{
    float *values = (float *)calloc(1, tile_bytes(t));

    for (int r = 0; r < t->rows; r++)
        for (int c = 0; c < t->cols; c++)
            values[cell(t, r, c)] = (float)(((t->first_row + r) * 31 + (t->first_col + c) * 17) % 1000);
    for (int i = 0; i < 2; i++) {
        t->field[i] = (DEVICE(float))gpu_alloc(tile_bytes(t));
        gpu_in(t->field[i], gpu_row(0, tile_bytes(t)), values);
    }
    free(values);
}

/* Of the bits of this tile's cells and their places: the sum over all tiles does not depend on how they were cut. */
static inline uint64_t checksum(const struct tile *t, int which)
{
    uint32_t *bits = (uint32_t *)malloc(tile_bytes(t));
    uint64_t sum = 0;

    gpu_out(bits, t->field[which], gpu_row(0, tile_bytes(t)));
    for (int r = 0; r < t->rows; r++)
        for (int c = 0; c < t->cols; c++)
            sum += bits[cell(t, r, c)] * (uint64_t)((t->first_row + r) * COLS + t->first_col + c + 1);
    free(bits);
    return sum;
}

static inline void print_result(uint64_t sum)
{
    printf("halo: %d x %d cells, %d iterations, checksum %016llx\n", ROWS, COLS, ITERATIONS, (unsigned long long)sum);
}

#endif
