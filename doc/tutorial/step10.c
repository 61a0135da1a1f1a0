/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Step 10 of doc/tutorial.md: parts of different sizes, and what is said when a buffer cannot be mapped.
 */
#include <shmemx.h>

#include "rod.h"

static uint64_t mine, sum; /* static data are symmetric, as the arguments of a reduction have to be */

enum { FROM_LEFT, FROM_RIGHT };
static uint64_t *arrived; /* on the heap: the turn of the cell that has come last from either side */
static int left_cells, own_cells; /* symmetric: cells of the part to the left, and of this one */

/* The first PE gets a third more than the others' share, the last so much less. */
static void cut_unevenly(struct part *p, int me, int n)
{
    const int extra = n > 1 ? CELLS / n / 3 : 0;

    p->n = CELLS / n + (me == 0 ? extra : me == n - 1 ? -extra : 0);
    p->first = me * (CELLS / n) + (me > 0 ? extra : 0);
}

/* shmmap takes the same size on all PEs: that of the largest part. What follows the cells is not used. */
static float *map_field(struct part *p, int i, size_t bytes, const float *values)
{
    float *map;

    p->field[i] = (DEVICE(float))gpu_alloc(bytes);
    gpu_in(p->field[i], gpu_row(0, bytes), values);
    map = (float *)MAP(p->field[i], bytes);
    if (!map) {
        fprintf(stderr, "PE %d cannot map its part: %s\n", shmem_my_pe(), shmemx_strerror());
        shmem_global_exit(1);
    }
    return map;
}

/* Enqueued between two kernels: the host does not wait. */
static void exchange(const struct part *p, float *map, uint64_t turn)
{
    if (p->left >= 0)
        PUT_SIGNAL_IN_ORDER(map + left_cells + 1, map + 1, sizeof(float), &arrived[FROM_RIGHT], turn, SHMEM_SIGNAL_SET,
                            p->left);
    if (p->right >= 0)
        PUT_SIGNAL_IN_ORDER(map, map + p->n, sizeof(float), &arrived[FROM_LEFT], turn, SHMEM_SIGNAL_SET, p->right);
    if (p->left >= 0)
        WAIT_IN_ORDER(&arrived[FROM_LEFT], SHMEM_CMP_GE, turn);
    if (p->right >= 0)
        WAIT_IN_ORDER(&arrived[FROM_RIGHT], SHMEM_CMP_GE, turn);
}

int main(void)
{
    struct part p;
    float *map[2], *values;
    size_t bytes;

    shmem_init();
    set_up(&p, shmem_my_pe(), shmem_n_pes(), shmemx_my_device(MAP_TYPE));
    clean_up(&p); /* its equal parts are not wanted */
    cut_unevenly(&p, shmem_my_pe(), shmem_n_pes());
    bytes = (size_t)(CELLS / shmem_n_pes() * 4 / 3 + 2) * sizeof(float);
    values = (float *)calloc(1, bytes);
    for (int i = 0; i < p.n; i++)
        values[i + 1] = (float)((p.first + i) * 31 % 1000);
    for (int i = 0; i < 2; i++)
        map[i] = map_field(&p, i, bytes, values);
    free(values);
    arrived = (uint64_t *)shmem_calloc(2, sizeof(uint64_t));
    own_cells = p.n;
    shmem_barrier_all();
    if (p.left >= 0) /* where that part's halo is depends on its size */
        left_cells = shmem_int_g(&own_cells, p.left);

    for (int i = 0; i < ITERATIONS; i++) {
        exchange(&p, map[i % 2], (uint64_t)i + 1);
        compute(&p, i, 1, p.n);
    }
    gpu_wait(); /* the only time */

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
