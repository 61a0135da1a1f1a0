/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The contexts that hold something back (gather.h), in a list, so that it leaves without the program: when a thread
 * begins to wait in the library, and after one or two milliseconds, by the service thread.
 */
#ifndef SHMEMI_STAGED_WAITING_H
#define SHMEMI_STAGED_WAITING_H

#include "transport/driver.h"

/* A part of what a context holds back. Under the context's gather_lock, but for the links. */
struct shmemi_waiting {
    struct shmemi_context *context;
    int (*send)(struct shmemi_waiting *waiting); /* everything leaves; with the lock held */
    int failed; /* first error of what left without the program, to be reported at the next flush */
    bool is_waiting;
    bool was_seen; /* by a sweep, as the links under the list's lock */
    struct shmemi_waiting *next, **link;
};

/* With the context's gather_lock held. Either may be called again. */
void shmemi_waiting_begin(struct shmemi_waiting *waiting);
void shmemi_waiting_end(struct shmemi_waiting *waiting);

#endif
