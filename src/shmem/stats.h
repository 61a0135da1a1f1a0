/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The end of what sight.h measures: the table of SHMEM_STATS, summed over the PEs, and the trace as one file.
 */
#ifndef SHMEMI_STATS_H
#define SHMEMI_STATS_H

/* Collective, the last one of shmem_finalize, in place of its barrier. It costs no more than that when no PE measures.
 * 0 or -errno, logged. */
int shmemi_report(void);

#endif
