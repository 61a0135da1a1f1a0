/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Step 4 of doc/tutorial.md: puts instead of messages. MPI is left with the sum.
 */
#include <mpi.h>
#include <shmemx.h>

#include "rod.h"

/* One cell to each side, from GPU to GPU. */
static void exchange(const struct part *p, float *map)
{
    if (p->left >= 0)
        shmem_float_put(map + p->n + 1, map + 1, 1, p->left);
    if (p->right >= 0)
        shmem_float_put(map, map + p->n, 1, p->right);
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    struct part p;
    float *map[2];
    uint64_t mine, sum;
    int me, n;

    MPI_Init(&argc, &argv);
    shmem_init();
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    set_up(&p, me, n, shmemx_my_device(MAP_TYPE));
    for (int i = 0; i < 2; i++)
        if (!(map[i] = (float *)MAP(p.field[i], part_bytes(&p))))
            shmem_global_exit(1); /* shmmap has printed the reason */

    for (int i = 0; i < ITERATIONS; i++) {
        exchange(&p, map[i % 2]);
        compute(&p, i, 1, p.n);
        gpu_wait();
    }

    mine = checksum(&p);
    MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0)
        print_result(sum);
    for (int i = 0; i < 2; i++)
        shmumap(map[i]);
    clean_up(&p);
    shmem_finalize();
    MPI_Finalize();
    return 0;
}
