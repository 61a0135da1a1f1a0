/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Start with a unique id, which the program takes to all PEs by its own means: where the server is, and the key.
 */
#ifndef SHMEMI_UNIQUE_ID_H
#define SHMEMI_UNIQUE_ID_H

#include <stdbool.h>

enum { SHMEMI_UNIQUE_ID_BYTES = 128 };

/* Start a server in this process, and fill in its id. 0 or -errno, logged. Any thread. */
int shmemi_unique_id_make(unsigned char id[SHMEMI_UNIQUE_ID_BYTES]);

/* Is it one of this release? Says why not: NULL if it is. */
const char *shmemi_unique_id_fault(const unsigned char id[SHMEMI_UNIQUE_ID_BYTES]);

/* Let the next shmemi_bootstrap_open start as PE pe of n_pes with this id, which is sound. */
void shmemi_unique_id_use(const unsigned char id[SHMEMI_UNIQUE_ID_BYTES], int pe, int n_pes);
/* Does it? */
bool shmemi_unique_id_is_used(void);

#endif
