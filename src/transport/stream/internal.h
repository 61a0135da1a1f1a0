/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of operations in streams share.
 */
#ifndef SHMEMI_STREAM_INTERNAL_H
#define SHMEMI_STREAM_INTERNAL_H

#include "transport/stream/stream.h"

/* Steps of the stream at words; -ENOTSUP, with nothing enqueued, when it cannot do them alone (stream.c). */
int shmemi_stream_steps(const struct shmemi_stream *stream, const struct shmemi_stream_signal *signals, unsigned n);

/* -EBUSY, after a line, when the stream is being captured: each execution of the graph would be the same operation. */
int shmemi_stream_refuse_recording(const struct shmemi_stream *stream);

/* Forget the barriers so far (transport/stream/barrier.c). */
void shmemi_stream_barriers_close(void);

#endif
