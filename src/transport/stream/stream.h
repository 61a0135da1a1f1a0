/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations in the order of streams (CUDA) and queues (OpenCL) of the program. All return when the operation has been
 * enqueued: 0, or -errno after a line.
 *
 * What the GPU can do alone is enqueued in the stream itself. For all else the stream takes a turn: it waits while the
 * agent, a thread of the library that is made when first needed, does the operation by the usual drivers.
 */
#ifndef SHMEMI_STREAM_H
#define SHMEMI_STREAM_H

#include "transport/driver.h"

struct shmemi_stream_transfer {
    const struct shmemi_view *view;
    size_t offset;
    struct shmemi_place local;
    size_t nbytes;
};

/* A signal word, and what is done with it, or waited for: then the view is this PE's own. */
struct shmemi_stream_signal {
    const struct shmemi_view *view;
    size_t offset;
    uint64_t value;
    enum shmemi_word_step step;
};

/* The stream of a kind of memory; handle as the program has it. -errno, with a cause in reason, when there is none. */
int shmemi_stream_open(int type, void *handle, struct shmemi_stream *stream_p, char *reason, size_t reason_size);

/* The stream goes on when the source of a put may be reused, or the data of a get are there. */
int shmemi_stream_put(const struct shmemi_stream *stream, const struct shmemi_stream_transfer *put);
int shmemi_stream_get(const struct shmemi_stream *stream, const struct shmemi_stream_transfer *get);

/* Update a signal after the payload, which may be NULL, and after the earlier puts of the stream to that PE. */
int shmemi_stream_signal(const struct shmemi_stream *stream, const struct shmemi_stream_transfer *payload,
                         const struct shmemi_stream_signal *signal);
int shmemi_stream_wait(const struct shmemi_stream *stream, const struct shmemi_stream_signal *signal);

/* Complete the puts and signals of the stream. */
int shmemi_stream_quiet(const struct shmemi_stream *stream);

/* Meet all PEs, after a quiet if it completes. Calls come in the same order on all PEs, and take place one after the
 * other, in whichever streams (transport/stream/barrier.c). */
int shmemi_stream_barrier(const struct shmemi_stream *stream, bool completes);

/* Wait until all that was enqueued in streams is complete. */
void shmemi_streams_drain(void);
/* End the agent; nothing is under way. */
void shmemi_streams_close(void);

#endif
