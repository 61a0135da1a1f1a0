/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waits for words in streams and queues, for the watchdog.
 */
#ifndef SHMEMI_STREAM_WATCH_H
#define SHMEMI_STREAM_WATCH_H

#include "shmem/stream/stream_call.h"
#include "transport/stream/watched.h"

void shmemi_words_watch_slowly(struct shmemi_stream *stream, const char *routine,
                               const struct shmemi_stream_words *words, bool is_signed);

/* Watch a wait that is enqueued next; shmemi_watched_end comes after that. */
static inline void shmemi_words_watch(struct shmemi_stream *stream, const char *routine,
                                      const struct shmemi_stream_words *words, bool is_signed)
{
    if (shmemi_unlikely(shmemi_watches_streams))
        shmemi_words_watch_slowly(stream, routine, words, is_signed);
}

#endif
