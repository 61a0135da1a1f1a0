/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steps of shmem_init: how long each took, for SHMEM_LOG=debug, and the end of a PE which does not come back
 * from one. The library's own waits look at SHMEM_TIMEOUT themselves (bootstrap/deadline.h) and can say for whom they
 * wait; this is for calls of other libraries that hang, as those of PMIx do when the launcher hangs.
 */
#ifndef SHMEMI_STEPS_H
#define SHMEMI_STEPS_H

#include <stdint.h>

enum { SHMEMI_INIT_STEPS_MAX = 12 };

/* The first step begins, and with it the time. */
void shmemi_steps_begin(const char *step);
/* The next step begins. The name stays the caller's. */
void shmemi_step(const char *step);
/* All steps are done, or one has failed. */
void shmemi_steps_end(void);
/* How long step i took, in nanoseconds, and its name; NULL if there were fewer. After the end. */
const char *shmemi_step_taken(int i, uint64_t *ns_p);

#endif
