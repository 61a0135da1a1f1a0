/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long shmem_init may wait for others: SHMEM_TIMEOUT seconds from its first step, for all of it together. Whatever
 * waits in it, for the launcher or for other PEs, asks here how long it may; SHMEM_TIMEOUT=0 means for ever.
 */
#ifndef SHMEMI_DEADLINE_H
#define SHMEMI_DEADLINE_H

#include <stdbool.h>
#include <stddef.h>

/* Called by shmem_init at its beginning and at its end. */
void shmemi_init_begins(void);
void shmemi_init_ends(void);

/* Is shmem_init under way, and its time over? Cheap when it is not under way. Any thread. */
bool shmemi_init_is_overdue(void);

/* The time that is left, at least 0; -1: there is no limit, or shmem_init is not under way. */
int shmemi_init_milliseconds_left(void);
/* The time that is left in whole seconds, rounded up to at least 1; 0: there is no limit. For callers that count in seconds. */
int shmemi_init_seconds_left(void);

/* Write who is missing as shmemi_init_is_over takes it, "; PE 3, 5 and 2 others have not come"; nothing if nobody is known to
 * be missing. */
void shmemi_list_missing(char *text, size_t size, int n_pes, bool (*has_come)(int pe));
/* Logs that not all PEs have started in time, and who is missing, if that is known ("; PE 3 has not come"): -ETIMEDOUT. */
int shmemi_init_is_over(const char *missing);

#endif
