/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What all steps of doc/tutorial.md share: a rod of cells, cut into equal parts, one for each process, and the kernel. None
 * of it knows how cells travel. gpu.h, of doc/porting, has the same few names over CUDA and over OpenCL.
 *
 * Each iteration replaces every cell by a quarter of its neighbours and half of itself; beyond the ends of the rod there is
 * 0. A part lives twice in GPU memory, before and after an iteration. Cells 1 to n are its own; 0 and n + 1, its halo, are
 * copies of the neighbours' outermost cells.
 */
#ifndef TUTORIAL_ROD_H
#define TUTORIAL_ROD_H

#include "gpu.h"

enum { CELLS = 9600, ITERATIONS = 50 };

KERNELS(KERNEL sweep(GLOBAL const float *in, GLOBAL float *out, int first, int n) {
    const int here = first + INDEX;

    if (INDEX < n)
        out[here] = 0.25f * ((in[here - 1] + in[here + 1]) + (in[here] + in[here]));
})

struct part {
    int n, first;              /* cells of this part; the first one's place in the rod */
    int left, right;           /* neighbours, -1 where the rod ends                    */
    DEVICE(float) field[2];    /* before and after an iteration, in turns              */
};

static inline size_t part_bytes(const struct part *p)
{
    return (size_t)(p->n + 2) * sizeof(float);
}

/* The part of process `me` of n; opens the device with this number. */
static inline void set_up(struct part *p, int me, int n, int device)
{
    float *values;

    if (CELLS % n != 0) {
        fprintf(stderr, "%d cells cannot be cut into %d parts\n", CELLS, n);
        exit(EXIT_FAILURE);
    }
    p->n = CELLS / n;
    p->first = me * p->n;
    p->left = me - 1;
    p->right = me + 1 < n ? me + 1 : -1;
    gpu_open(device);
    values = (float *)calloc(1, part_bytes(p));
    for (int i = 0; i < p->n; i++)
        values[i + 1] = (float)((p->first + i) * 31 % 1000);
    for (int i = 0; i < 2; i++) {
        p->field[i] = (DEVICE(float))gpu_alloc(part_bytes(p));
        gpu_in(p->field[i], gpu_row(0, part_bytes(p)), values);
    }
    free(values);
}

/* Enqueues iteration number `turn` for n cells from `first` on. */
static inline void compute(const struct part *p, int turn, int first, int n)
{
    DEVICE(float) in = p->field[turn % 2];
    DEVICE(float) out = p->field[(turn + 1) % 2];

    LAUNCH(sweep, n, ARGUMENT(in), ARGUMENT(out), ARGUMENT(first), ARGUMENT(n));
}

/* Of the bits of this part's cells and their places: the sum over all parts does not depend on their number. */
static inline uint64_t checksum(const struct part *p)
{
    uint32_t *bits = (uint32_t *)malloc(part_bytes(p));
    uint64_t sum = 0;

    gpu_out(bits, p->field[ITERATIONS % 2], gpu_row(0, part_bytes(p)));
    for (int i = 0; i < p->n; i++)
        sum += bits[i + 1] * (uint64_t)(p->first + i + 1);
    free(bits);
    return sum;
}

static inline void print_result(uint64_t sum)
{
    printf("rod: %d cells, %d iterations, checksum %llx\n", CELLS, ITERATIONS, (unsigned long long)sum);
}

static inline void clean_up(const struct part *p)
{
    for (int i = 0; i < 2; i++)
        gpu_free(p->field[i]);
}

#endif
