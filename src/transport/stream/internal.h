/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of operations in streams share.
 */
#ifndef SHMEMI_STREAM_INTERNAL_H
#define SHMEMI_STREAM_INTERNAL_H

#include "transport/stream/stream.h"

/* Let the stream itself update words, or wait for them; -ENOTSUP, with nothing enqueued, when it cannot (stream.c). */
int shmemi_stream_steps(const struct shmemi_stream *stream, const struct shmemi_stream_signal *signals, unsigned n);

/* Refuse, with a message and -EBUSY, a stream that is being captured into a graph: whatever is enqueued would belong to
 * a single operation, but the graph may be executed many times. */
int shmemi_stream_refuse_recording(const struct shmemi_stream *stream);

/* Forget the barriers so far (transport/stream/barrier.c). */
void shmemi_stream_barriers_close(void);

#endif
