/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hybrid: MPI and OpenSHMEM in one program. Each PE puts a number into the next PE's memory by OpenSHMEM, and MPI sums up
 * what has arrived. With MPICH: mpicc.mpich, and oshrun --launcher mpiexec.mpich.
 *
 *     MAPSHMEM_CC=mpicc oshcc -o hybrid hybrid.c
 *     oshrun -n 3 ./hybrid
 */
#include <mpi.h>
#include <shmem.h>
#include <stdio.h>

static int received; /* static data are symmetric */

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    shmem_init();
    int rank, sum, me = shmem_my_pe(), n = shmem_n_pes();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    int pe_of_rank[n]; /* PE numbers and ranks need not be equal */
    MPI_Allgather(&me, 1, MPI_INT, pe_of_rank, 1, MPI_INT, MPI_COMM_WORLD);
    shmem_int_p(&received, rank + 1, pe_of_rank[(rank + 1) % n]); /* to the PE of the next rank */
    shmem_barrier_all();                                          /* completes the put; a barrier of MPI would not */

    MPI_Allreduce(&received, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int wrong = received != (rank + n - 1) % n + 1 || sum != n * (n + 1) / 2;
    printf("rank %d has received %d, all together %d: %s\n", rank, received, sum, wrong ? "WRONG" : "verified");
    shmem_finalize();
    MPI_Finalize();
    return wrong;
}
