/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Traffic of the hybrid tests: data that SHMEM transfers are compared with data that MPI transfers, and the other way
 * round. Sequences: SHMEM and MPI barriers do not complete each other's operations, so each phase ends with the barrier
 * of its own kind.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

/* The number of every PE by MPI rank, and the other way round; they need not be equal. Both must be initialised. */
void traffic_learn_numbers(void);

/* Both together: puts into the memory that MPI sends from and receives into, reductions by both compared. */
void traffic_both(int round);
/* One alone: before the other is initialised, or after it has been finalised. */
void traffic_shmem(int round);
void traffic_mpi(int round);

#endif
