/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program with MPI that starts MapSHMEM by itself, in groups of two processes, or one: each group is a job of its own, whose unique
 * id MPI takes to its PEs. Compiled by hybrid.test.
 */
#include <mpi.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size;
    long number = 0;
    static long from_other;
    MPI_Comm group;
    shmemx_uniqueid_t id;
    shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &group);
    MPI_Comm_rank(group, &attr.pe);
    MPI_Comm_size(group, &attr.n_pes);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!attr.pe && shmemx_get_uniqueid(&id))
        return 1;
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, group);
    attr.uniqueid = &id;
    if (shmemx_init_attr(&attr, NULL))
        return 1;
    number = rank;
    shmem_long_put(&from_other, &number, 1, attr.n_pes - 1 - attr.pe);
    shmem_barrier_all();
    const int is_right =
        shmem_my_pe() == attr.pe && shmem_n_pes() == attr.n_pes && from_other == (attr.n_pes == 2 ? rank ^ 1 : rank);
    printf("process %d of %d, PE %d of %d: %s\n", rank, size, attr.pe, attr.n_pes, is_right ? "ok" : "WRONG");
    shmem_finalize();
    MPI_Comm_free(&group);
    MPI_Finalize();
    return !is_right;
}
