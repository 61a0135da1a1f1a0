/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Step 7 of doc/tutorial.md: cells travel while the interior is computed.
 */
#include <shmemx.h>

#include "rod.h"

static uint64_t mine, sum; /* static data are symmetric, as the arguments of a reduction have to be */

enum { FROM_LEFT, FROM_RIGHT };
static uint64_t *arrived; /* on the heap: the turn of the cell that has come last from either side */

/* The outermost cells set out. Their source must stay as it is until shmem_quiet. */
static void send(const struct part *p, float *map, uint64_t turn)
{
    if (p->left >= 0)
        shmem_float_put_signal_nbi(map + p->n + 1, map + 1, 1, &arrived[FROM_RIGHT], turn, SHMEM_SIGNAL_SET, p->left);
    if (p->right >= 0)
        shmem_float_put_signal_nbi(map, map + p->n, 1, &arrived[FROM_LEFT], turn, SHMEM_SIGNAL_SET, p->right);
}

static void receive(const struct part *p, uint64_t turn)
{
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
        const uint64_t turn = (uint64_t)i + 1;

        send(&p, map[i % 2], turn);
        compute(&p, i, 2, p.n - 2); /* needs no cell of another part */
        receive(&p, turn);
        compute(&p, i, 1, 1);
        compute(&p, i, p.n, 1);
        gpu_wait();
        shmem_quiet();
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
