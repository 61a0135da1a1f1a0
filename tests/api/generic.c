/* SPDX-License-Identifier: BSD-3-Clause
 *
 * C11 type-generic forms: the calls of generic_calls.h, complex numbers, and types that are names of others.
 */
#include "generic_calls.h"

#include <complex.h>

static double _Complex complex_double[2];
static float _Complex complex_float[2];
static long *collected;

static void check_others(void)
{
    const double _Complex d = 1 + 2 * I;
    const float _Complex f = 3 - 1 * I;
    const long me = shmem_my_pe();
    shmem_sum_reduce(SHMEM_TEAM_WORLD, complex_double, &d, 1);
    shmem_sum_reduce(SHMEM_TEAM_WORLD, complex_float, &f, 1);
    CHECK(complex_double[0] == shmem_n_pes() * d && complex_float[0] == shmem_n_pes() * f);
    shmem_fcollect(SHMEM_TEAM_WORLD, collected, &me, 1);
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        CHECK(collected[pe] == pe);
    /* types with a fixed width are one of the C types */
    static int64_t wide;
    static size_t size;
    shmem_p(&wide, -9, check_target(1));
    shmem_atomic_inc(&size, check_target(1));
    shmem_barrier_all();
    CHECK(wide == -9 && size == 1);
}

int main(void)
{
    shmem_init();
    collected = check_shmem_malloc((size_t)shmem_n_pes() * sizeof *collected);
    check_calls();
    check_others();
    shmem_free(collected);
    return check_end();
}
