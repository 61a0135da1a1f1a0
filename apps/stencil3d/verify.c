/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The grid at the start, and a serial run to compare with: the same operations in the same order as in kernel.h.
 */
#include <stdlib.h>
#include <string.h>

#include "stencil3d.h"
#include "support/util.h"

float initial_cell(const struct options *opt, int x, int y, int z)
{
    const unsigned n = ((unsigned)z * (unsigned)opt->size[Y] + (unsigned)y) * (unsigned)opt->size[X] + (unsigned)x;
    return (float)(n * 2654435761u >> 16) / 65536.0f;
}

static void set_initial(const struct options *opt, float *array)
{
    for (int z = 0; z < opt->size[Z]; z++)
        for (int y = 0; y < opt->size[Y]; y++)
            for (int x = 0; x < opt->size[X]; x++)
                array[cell_at(opt->size, x, y, z)] = initial_cell(opt, x, y, z);
}

static void iterate(const int n[AXES], const float *in, float *out, float rate)
{
    const size_t row = (size_t)n[X] + 2, layer = row * ((size_t)n[Y] + 2);
    for (int z = 0; z < n[Z]; z++)
        for (int y = 0; y < n[Y]; y++)
            for (int x = 0; x < n[X]; x++) {
                const float *at = in + cell_at(n, x, y, z);
                const float around = ((at[-1] + at[1]) + (*(at - row) + at[row])) + (*(at - layer) + at[layer]);
                out[at - in] = *at + rate * (around - 6.0f * *at);
            }
}

long count_wrong(const struct options *opt, const struct block *block, const float *array, float rate)
{
    const size_t bytes = block_cells(opt->size) * sizeof(float);
    float *buf[2] = {host_alloc(bytes), host_alloc(bytes)};
    long wrong = 0;
    memset(buf[0], 0, bytes);
    memset(buf[1], 0, bytes);
    set_initial(opt, buf[0]);
    for (long i = 0; i < opt->iterations; i++)
        iterate(opt->size, buf[i % 2], buf[(i + 1) % 2], rate);
    const float *right = buf[opt->iterations % 2];
    for (int z = 0; z < block->n[Z]; z++)
        for (int y = 0; y < block->n[Y]; y++)
            for (int x = 0; x < block->n[X]; x++)
                wrong += array[cell_at(block->n, x, y, z)] !=
                         right[cell_at(opt->size, block->first[X] + x, block->first[Y] + y, block->first[Z] + z)];
    free(buf[0]);
    free(buf[1]);
    return wrong;
}
