/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations in streams and queues that end only when other PEs do something, for SHMEM_WATCHDOG: no thread of this
 * process need be in a call that waits for them. Around each the stream writes a number into words of this PE's heap, when
 * it comes to the operation and when it goes on; where the agent does the operation, it writes them. The watchdog's thread
 * looks at the words (instrument/watchdog.h), and reports what has waited for too long.
 *
 * Without a watchdog nothing is enqueued. Operations that are captured into a graph have no
 * number, and are not watched; nor are more than SHMEMI_WATCHED_MOST at a time.
 */
#ifndef SHMEMI_WATCHED_H
#define SHMEMI_WATCHED_H

#include "base/settings.h"
#include "gpu/memory.h"

enum { SHMEMI_WATCHED_MOST = 256, SHMEMI_WATCHED_BYTES = 256 };

/* What is known of an operation: the head of a structure of at most SHMEMI_WATCHED_BYTES, which is copied. */
struct shmemi_watched {
    const char *routine; /* stays where it is */
    /* Says what it waits for at this moment, in one phrase without a newline; false if there is nothing to report. has_come:
     * the stream has come to it. Called by a thread of the library, perhaps after the operation has ended, until
     * shmemi_watched_close. */
    bool (*describe)(const struct shmemi_watched *watched, bool has_come, char *text, size_t size);
};

/* Watch what the caller enqueues between the two, a single operation, with this very `stream`. rc: how that ended. */
void shmemi_watched_begin(struct shmemi_stream *stream, const struct shmemi_watched *watched, size_t size);
void shmemi_watched_end(struct shmemi_stream *stream, int rc);

/* For the agent, with stream->watched: it does the operation, it has come to it, it has done it. */
void shmemi_watched_by_agent(void *watched);
void shmemi_watched_has_come(void *watched);
void shmemi_watched_is_over(void *watched);

/* End the watchdog's thread; nothing may be under way. */
void shmemi_watched_close(void);

#endif
