/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of what instrument/measure.h measures: the table of SHMEM_STATS, summed over the PEs, and the trace as one file.
 */
#ifndef SHMEMI_STATS_H
#define SHMEMI_STATS_H

/* Collective: the barrier of shmem_finalize, and what follows from it. It costs no more than a barrier when no PE
 * measures. 0 or -errno, logged. */
int shmemi_report(void);

#endif
