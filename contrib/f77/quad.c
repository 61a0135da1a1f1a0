/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions of REAL(16) for FORTRAN 77, of 128 bits. C's long double has 80 on x86-64, so that the C library has no
 * reduction for it there. Each PE fetches the sources of all others and combines them, in the order of the PEs.
 */
#include "contrib/f77/f77.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef float quad __attribute__((mode(TF))); /* __float128 on x86-64, long double on 64-bit Arm */
typedef quad operation(quad a, quad b);

struct quad_set {
    int start, stride, size;
    long *sync;
};

static quad quad_sum(quad a, quad b)
{
    return a + b;
}

static quad quad_prod(quad a, quad b)
{
    return a * b;
}

static quad quad_max(quad a, quad b)
{
    return a < b ? b : a;
}

static quad quad_min(quad a, quad b)
{
    return b < a ? b : a;
}

/* Two arrays of private memory: what has been combined, and what has just come. */
static void combine(quad *sum, quad *other, const quad *source, size_t n, const struct quad_set *set,
                    operation *combined)
{
    shmem_getmem(sum, source, n * sizeof *sum, set->start);
    for (int member = 1; member < set->size; member++) {
        shmem_getmem(other, source, n * sizeof *other, set->start + member * set->stride);
        for (size_t i = 0; i < n; i++)
            sum[i] = combined(sum[i], other[i]);
    }
}

static void reduce(quad *dest, const quad *source, int nreduce, int log_stride, const struct quad_set *set,
                   operation *combined)
{
    const size_t n = nreduce > 0 ? (size_t)nreduce : 0;
    quad *private = malloc(2 * n * sizeof *private + 1);
    if (!private) {
        fprintf(stderr, "a reduction of REAL(16): no memory for 2 times %zu elements\n", n);
        shmem_global_exit(1);
    }
    shmem_barrier(set->start, log_stride, set->size, set->sync);
    combine(private, private + n, source, n, set, combined);
    shmem_barrier(set->start, log_stride, set->size, set->sync); /* dest may be source, which others have read now */
    memcpy(dest, private, n * sizeof *dest);
    free(private);
}

#define SHMEMI_F77_QUAD(OP)                                                                                            \
    SHMEMI_F77(void, shmem_real16_##OP##_to_all,                                                                       \
               (quad * dest, const quad *source, const int *nreduce, const int *PE_start, const int *logPE_stride,     \
                const int *PE_size, quad *pWrk, int *pSync))                                                           \
    {                                                                                                                  \
        struct quad_set set = {*PE_start, 1 << *logPE_stride, *PE_size, shmemi_f77_sync(pSync)};                       \
        (void)pWrk;                                                                                                    \
        reduce(dest, source, *nreduce, *logPE_stride, &set, quad_##OP);                                                \
    }

SHMEMI_F77_QUAD(max)
SHMEMI_F77_QUAD(min)
SHMEMI_F77_QUAD(sum)
SHMEMI_F77_QUAD(prod)
