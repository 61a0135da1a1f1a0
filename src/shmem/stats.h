/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Output of the measurements of instrument/measure.h: the table of SHMEM_STATS, summed over the PEs, and the trace as
 * one file.
 */
#ifndef SHMEMI_STATS_H
#define SHMEMI_STATS_H

/* Collective: the barrier of shmem_finalize, then the output. Costs no more than a barrier if no PE measures. Returns
 * 0, or logs an error and returns -errno. */
int shmemi_report(void);

#endif
