/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The streams that a team's meetings (meet.c) have beside the program's, all in the context of the memory at which the GPUs
 * meet. Made when they are first needed, freed by shmemi_gpu_end_meetings. Private to these files.
 */
#ifndef SHMEMI_MEETING_STREAMS_H
#define SHMEMI_MEETING_STREAMS_H

#include "gpu/device/streams/program_streams.h"

struct shmemi_extra_stream {
    struct shmemi_gpu_context *context;
    void *stream;
    void *event;
    void *captured_with; /* of the program: this one is part of its capture */
};

struct shmemi_extra_streams {
    struct shmemi_extra_stream copies; /* within this member's memory, while the team's stream makes the others */
    struct shmemi_extra_stream detour; /* for the kernels and copies of a stream of another context */
};

/* One for copies beside this stream, whose context is current; NULL: none can be had. */
struct shmemi_extra_stream *shmemi_extra_stream_for_copies(struct shmemi_extra_streams *extras,
                                                           const struct shmemi_stream *stream);
/* `later` goes on when `earlier`, a stream of the same context, which is current, has come here. */
int shmemi_extra_stream_follow(const struct shmemi_extra_stream *extra, void *later, void *earlier);

/* Let the detour, in the context `there`, follow the program's stream, which may be that of another GPU; and let that go on
 * when the detour has come to its end. 0 or -errno, logged. */
int shmemi_detour_begin(struct shmemi_extra_stream *detour, struct shmemi_gpu_context *there,
                        const struct shmemi_stream *stream);
int shmemi_detour_end(const struct shmemi_extra_stream *detour, const struct shmemi_stream *stream);

#endif
