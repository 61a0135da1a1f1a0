/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts with a signal that come in several requests: between nodes requests may overtake each other, so the owner counts
 * those that it has carried out, and updates the signal after the last.
 */
#ifndef SHMEMI_PARTS_H
#define SHMEMI_PARTS_H

#include "transport/request.h"

#include <stdbool.h>

/* Note that a request of a put with a signal has been carried out, or has failed. True if it was the last one and none
 * has failed: the signal is due. Under the service lock. */
bool shmemi_parts_are_complete(const struct shmemi_request *request, bool is_failed);

/* How many puts are known of which requests are still to come. */
unsigned shmemi_parts_open(void);

/* Forget all puts. */
void shmemi_parts_close(void);

#endif
