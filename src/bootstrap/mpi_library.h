/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MPI library that the program has loaded into this process, if any. Only functions with the same binary interface
 * in every implementation are called, so nothing here depends on one.
 */
#ifndef SHMEMI_MPI_LIBRARY_H
#define SHMEMI_MPI_LIBRARY_H

enum shmemi_mpi_state {
    SHMEMI_MPI_ABSENT,
    SHMEMI_MPI_UNUSED, /* loaded, but not yet initialised */
    SHMEMI_MPI_ACTIVE,
    SHMEMI_MPI_FINALIZED,
};

enum shmemi_mpi_state shmemi_mpi_state(void);

/* Implementations of one family have the same binary interface: "openmpi" or "mpich" (with Intel MPI, MVAPICH and
 * Cray MPI). NULL when there is no MPI in the process. */
const char *shmemi_mpi_family(void);

/* A function of that library by name, or NULL. */
void *shmemi_mpi_symbol(const char *name);

#endif
