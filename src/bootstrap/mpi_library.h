/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The MPI library that the program has brought into this process, if any. It is looked at through the few functions
 * whose calls are the same in every implementation, so nothing here depends on one.
 */
#ifndef SHMEMI_MPI_LIBRARY_H
#define SHMEMI_MPI_LIBRARY_H

enum shmemi_mpi_state {
    SHMEMI_MPI_ABSENT,
    SHMEMI_MPI_UNUSED, /* there, but not initialised so far */
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
