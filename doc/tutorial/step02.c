/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Step 2 of doc/tutorial.md: OpenSHMEM beside MPI, which still does all the work.
 */
#include <mpi.h>
#include <shmemx.h>

#include "rod.h"

/* One cell to each side, by way of host memory. */
static void exchange(const struct part *p, int now)
{
    const size_t last = (size_t)p->n * sizeof(float), cell = sizeof(float);
    const int left = p->left < 0 ? MPI_PROC_NULL : p->left, right = p->right < 0 ? MPI_PROC_NULL : p->right;
    float out[2], in[2];

    gpu_out(&out[0], p->field[now], gpu_row(cell, cell));
    gpu_out(&out[1], p->field[now], gpu_row(last, cell));
    MPI_Sendrecv(&out[0], 1, MPI_FLOAT, left, 0, &in[1], 1, MPI_FLOAT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&out[1], 1, MPI_FLOAT, right, 0, &in[0], 1, MPI_FLOAT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (p->left >= 0)
        gpu_in(p->field[now], gpu_row(0, cell), &in[0]);
    if (p->right >= 0)
        gpu_in(p->field[now], gpu_row(last + cell, cell), &in[1]);
}

int main(int argc, char **argv)
{
    struct part p;
    uint64_t mine, sum;
    int me, n;

    MPI_Init(&argc, &argv);
    shmem_init();
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    set_up(&p, me, n, shmemx_my_device(MAP_TYPE));
    if (shmem_my_pe() != me || shmem_n_pes() != n)
        shmem_global_exit(1); /* ranks are used as PE numbers below: see doc/mpi.md where they differ */

    for (int i = 0; i < ITERATIONS; i++) {
        exchange(&p, i % 2);
        compute(&p, i, 1, p.n);
        gpu_wait();
    }

    mine = checksum(&p);
    MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0)
        print_result(sum);
    clean_up(&p);
    shmem_finalize();
    MPI_Finalize();
    return 0;
}
