/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations that take their turn in a stream (CUDA) or queue (OpenCL) of the program. All return when the operation
 * has been enqueued: 0, or -errno, logged.
 *
 * Operations that the GPU can do alone are enqueued in the stream itself. For all others the stream waits while the
 * agent, a thread of the library that is made when it is first needed, does the operation with the ordinary drivers.
 * ladder.c decides which of the two it is.
 */
#ifndef SHMEMI_STREAM_H
#define SHMEMI_STREAM_H

#include "transport/driver.h"

/* A signal word and its update, or the value to wait for; in the latter case the view is of this PE's own copy. */
struct shmemi_stream_signal {
    const struct shmemi_view *view;
    size_t offset;
    uint64_t value;
    enum shmemi_word_step step;
};

/* An atomic operation. */
struct shmemi_stream_amo {
    struct shmemi_word_update word;
    bool fetches;
    struct shmemi_place old; /* where the old value belongs, if it fetches */
};

/* The stream behind the program's handle, for a kind of memory. -errno, with a cause in reason, when it cannot be
 * used. */
int shmemi_stream_open(int type, void *handle, struct shmemi_stream *stream_p, char *reason, size_t reason_size);

/* The stream continues when the source of a put may be reused, or the data of a get has arrived. The transfer has no
 * context. */
int shmemi_stream_transfer(const struct shmemi_stream *stream, const struct shmemi_transfer *transfer);

/* Update a signal after the payload, which may be NULL, and after the earlier puts of the stream to that PE. */
int shmemi_stream_signal(const struct shmemi_stream *stream, const struct shmemi_transfer *payload,
                         const struct shmemi_stream_signal *signal);
/* then: the value that the signal gets when the wait is over, or NULL. */
int shmemi_stream_wait(const struct shmemi_stream *stream, const struct shmemi_stream_signal *signal,
                       const uint64_t *then);

/* Put the value itself, of at most SHMEMI_STREAM_VALUE_BYTES; update or wait for words (words.c). */
enum { SHMEMI_STREAM_VALUE_BYTES = 16 };
int shmemi_stream_store(const struct shmemi_stream *stream, const struct shmemi_view *view, size_t offset,
                        const void *value, size_t nbytes);
int shmemi_stream_amo(const struct shmemi_stream *stream, const struct shmemi_stream_amo *amo);
/* The status is used during the call only. */
int shmemi_stream_wait_words(const struct shmemi_stream *stream, const struct shmemi_stream_wait *words);

/* Complete the puts, signals and atomic operations of the stream. */
int shmemi_stream_quiet(const struct shmemi_stream *stream);

/* Wait for all PEs; before that complete the stream's operations, if `completes`. All PEs call it in the same order,
 * and the barriers take place one after the other, whichever streams they are in (barrier.c). In a stream that is being
 * captured, it is a barrier with what the other PEs have captured. routine: its name, for the watchdog. */
int shmemi_stream_barrier(const struct shmemi_stream *stream, const char *routine, bool completes);

/* Wait until all that was enqueued in streams is complete. */
void shmemi_streams_drain(void);
/* End the agent; nothing may be under way. */
void shmemi_streams_close(void);

#endif
