/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives whose source is a local variable or a block of malloc: the standard does not allow it, programs do it.
 */
#include "check.h"

enum { SMALL = 3, LARGE = 40000 };

static long *dest;

static long of(int pe, size_t i)
{
    return pe * 1000003L + (long)i;
}

static void check_all(size_t nelems, const long *source)
{
    const int me = shmem_my_pe(), n = shmem_n_pes(), root = n - 1;
    const long triangle = (long)n * (n - 1) / 2 * 1000003L, before = (long)me * (me + 1) / 2 * 1000003L;
    long wrong = 0;

    shmem_broadcast(SHMEM_TEAM_WORLD, dest, me == root ? source : NULL, nelems, root);
    for (size_t i = 0; i < nelems; i++)
        wrong += dest[i] != of(root, i);
    shmem_sync_all();
    shmem_fcollect(SHMEM_TEAM_WORLD, dest, source, nelems);
    for (size_t i = 0; i < nelems * (size_t)n; i++)
        wrong += dest[i] != of((int)(i / nelems), i % nelems);
    shmem_sync_all();
    shmem_collect(SHMEM_TEAM_WORLD, dest, source, nelems);
    for (size_t i = 0; i < nelems * (size_t)n; i++)
        wrong += dest[i] != of((int)(i / nelems), i % nelems);
    shmem_sync_all();
    shmem_alltoall(SHMEM_TEAM_WORLD, dest, source, nelems / (size_t)n);
    for (size_t i = 0; i < nelems / (size_t)n * (size_t)n; i++)
        wrong += dest[i] !=
                 of((int)(i / (nelems / (size_t)n)), (size_t)me * (nelems / (size_t)n) + i % (nelems / (size_t)n));
    shmem_sync_all();
    shmem_sum_reduce(SHMEM_TEAM_WORLD, dest, source, nelems);
    for (size_t i = 0; i < nelems; i++)
        wrong += dest[i] != triangle + (long)i * n;
    shmem_sync_all();
    shmem_sum_inscan(SHMEM_TEAM_WORLD, dest, source, nelems);
    for (size_t i = 0; i < nelems; i++)
        wrong += dest[i] != before + (long)i * (me + 1);
    shmem_sync_all();
    CHECK_THAT(!wrong, "%ld wrong values with %zu elements", wrong, nelems);
}

int main(void)
{
    shmem_init();
    long small[SMALL], *large = malloc(LARGE * sizeof *large);
    dest = shmem_malloc((size_t)shmem_n_pes() * LARGE * sizeof *dest);
    CHECK(large && dest);
    for (size_t i = 0; i < LARGE; i++)
        large[i] = of(shmem_my_pe(), i);
    memcpy(small, large, sizeof small);
    check_all(SMALL, small);
    check_all(LARGE, large);
    free(large);
    return check_end();
}
