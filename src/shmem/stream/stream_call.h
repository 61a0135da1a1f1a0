/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What all routines on streams and queues begin with: the stream or queue behind the program's handle.
 */
#ifndef SHMEMI_STREAM_CALL_H
#define SHMEMI_STREAM_CALL_H

#include "transport/stream/stream.h"

#include "shmem/internal.h"
#include "shmem/shmemx.h"

struct shmemi_stream_call {
    const char *routine;
    struct shmemi_stream stream;
};

/* Begin a call on a stream or queue. End the job, naming the routine, when the library is not initialised or the handle
 * cannot be used. */
struct shmemi_stream_call shmemi_call_on_stream(const char *routine, shmemx_stream_t stream);
struct shmemi_stream_call shmemi_call_on_queue(const char *routine, shmemx_queue_t queue, unsigned n_events,
                                               const shmemx_event_t *events, shmemx_event_t *event);

/* What begins with a quiet: the stream waits until that is complete which kernels had handed to the library before the stream
 * came here (device/device.h). In a stream that is being captured it does not, since no thread can be part of a graph. */
void shmemi_await_kernels(const struct shmemi_stream_call *call);

#endif
