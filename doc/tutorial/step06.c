/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Step 6 of doc/tutorial.md: signals instead of a barrier.
 */
#include <shmemx.h>

#include "rod.h"

static uint64_t mine, sum; /* static data are symmetric, as the arguments of a reduction have to be */

enum { FROM_LEFT, FROM_RIGHT };
static uint64_t *arrived; /* on the heap: the turn of the cell that has come last from either side */

/* One cell to each side, each with a signal; waits for the neighbours' alone. */
static void exchange(const struct part *p, float *map, uint64_t turn)
{
    if (p->left >= 0)
        shmem_float_put_signal(map + p->n + 1, map + 1, 1, &arrived[FROM_RIGHT], turn, SHMEM_SIGNAL_SET, p->left);
    if (p->right >= 0)
        shmem_float_put_signal(map, map + p->n, 1, &arrived[FROM_LEFT], turn, SHMEM_SIGNAL_SET, p->right);
    if (p->left >= 0)
        shmem_signal_wait_until(&arrived[FROM_LEFT], SHMEM_CMP_GE, turn);
    if (p->right >= 0)
        shmem_signal_wait_until(&arrived[FROM_RIGHT], SHMEM_CMP_GE, turn);
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
    arrived = (uint64_t *)shmem_calloc(2, sizeof(uint64_t));

    for (int i = 0; i < ITERATIONS; i++) {
        exchange(&p, map[i % 2], (uint64_t)i + 1);
        compute(&p, i, 1, p.n);
        gpu_wait();
    }

    mine = checksum(&p);
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
    if (shmem_my_pe() == 0)
        print_result(sum);
    shmem_free(arrived);
    for (int i = 0; i < 2; i++)
        shmumap(map[i]);
    clean_up(&p);
    shmem_finalize();
    return 0;
}
