/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the PMIx bootstrap share: this process as a client of PMIx.
 */
#ifndef SHMEMI_PMIX_CLIENT_H
#define SHMEMI_PMIX_CLIENT_H

#include <pmix.h>

#include <semaphore.h>
#include <stdbool.h>

extern struct shmemi_pmix {
    pmix_proc_t self;
    int n_pes;
} shmemi_pmix;

/* Logs that PMIx has failed in a phase, and returns -EIO. */
int shmemi_pmix_report(const char *phase, pmix_status_t status);
void shmemi_pmix_process(pmix_proc_t *proc, pmix_rank_t rank);

void shmemi_pmix_pause(double seconds);
/* False when so many milliseconds are over; -1: no limit. */
bool shmemi_pmix_await(sem_t *answered, int milliseconds);

/* 0 or -errno, logged. */
int shmemi_pmix_fence(void);

#endif
