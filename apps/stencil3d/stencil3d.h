/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An example of boxes: diffusion on a grid of three dimensions, cut into blocks, one for each PE.
 *
 * A block [nz][ny][nx] lies in an array with a layer of one cell around it, which holds the cells of the neighbours, or
 * zeros at the border of the grid. x is contiguous.
 */
#ifndef STENCIL3D_H
#define STENCIL3D_H

#include <stdbool.h>
#include <stddef.h>

enum { X, Y, Z, AXES };

/* How faces travel: each as one box; as a strided put for each layer; or packed by hand in host memory. */
enum manner { AS_BOXES, BY_LAYERS, BY_HAND };

struct options {
    const char *device; /* "auto", "cuda" or "opencl" */
    int size[AXES];     /* of the grid                */
    int grid[AXES];     /* of PEs; 0: chosen          */
    long iterations;
    enum manner manner;
    bool verify, help, version;
    char error[120]; /* what is wrong with the command line; empty if nothing */
};

/* A PE's block of the grid. */
struct block {
    int n[AXES];     /* cells          */
    int place[AXES]; /* among the PEs  */
    int first[AXES]; /* cell, in the grid */
};

void options_parse(int argc, char **argv, struct options *opt);
void options_help(void);

/* Cells of the array around a block of n cells, and the place of the cell (x, y, z) there; -1 and n are the halo. */
static inline size_t block_cells(const int n[AXES])
{
    return (size_t)(n[X] + 2) * (size_t)(n[Y] + 2) * (size_t)(n[Z] + 2);
}

static inline size_t cell_at(const int n[AXES], int x, int y, int z)
{
    return ((size_t)(z + 1) * (size_t)(n[Y] + 2) + (size_t)(y + 1)) * (size_t)(n[X] + 2) + (size_t)(x + 1);
}

/* The grid before the first iteration. */
float initial_cell(const struct options *opt, int x, int y, int z);

/* How many cells of this PE differ from a serial run of the whole grid on the CPU. array: the PE's, read back. */
long count_wrong(const struct options *opt, const struct block *block, const float *array, float rate);

#endif
