/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Step 5 of doc/tutorial.md: without MPI.
 */
#include <shmemx.h>

#include "rod.h"

static uint64_t mine, sum; /* static data are symmetric, as the arguments of a reduction have to be */

/* One cell to each side, from GPU to GPU. */
static void exchange(const struct part *p, float *map)
{
    if (p->left >= 0)
        shmem_float_put(map + p->n + 1, map + 1, 1, p->left);
    if (p->right >= 0)
        shmem_float_put(map, map + p->n, 1, p->right);
    shmem_barrier_all();
}

int main(void)
{
    struct part p;
    float *map[2];

    shmem_init();
    set_up(&p, shmem_my_pe(), shmem_n_pes(), shmemx_my_device(MAP_TYPE));
    for (int i = 0; i < 2; i++)
        if (!(map[i] = (float *)MAP(p.field[i], part_bytes(&p))))
            shmem_global_exit(1); /* shmmap has printed the reason */

    for (int i = 0; i < ITERATIONS; i++) {
        exchange(&p, map[i % 2]);
        compute(&p, i, 1, p.n);
        gpu_wait();
    }

    mine = checksum(&p);
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
    if (shmem_my_pe() == 0)
        print_result(sum);
    for (int i = 0; i < 2; i++)
        shmumap(map[i]);
    clean_up(&p);
    shmem_finalize();
    return 0;
}
