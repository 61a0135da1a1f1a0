/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests that travel without a staging slot, because their few bytes are in the request itself.
 */
#ifndef SHMEMI_SLOTLESS_H
#define SHMEMI_SLOTLESS_H

#include <stdbool.h>
#include <stdint.h>

/* Set all counts to 0, before the first operation. */
void shmemi_slotless_open(void);
/* Count a request that is about to be sent. Returns the value of its slot field. */
uint16_t shmemi_slotless_begin(void);
/* The owner has answered it, or it was not sent after all. */
void shmemi_slotless_settle(uint16_t slot, bool has_failed);
/* Wait for all requests that any context sent before the call, since they are not counted by context. -EIO: one has
 * failed. */
int shmemi_slotless_complete(void);

#endif
