/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams and queues of the program, as kinds of memory see them: what is enqueued there, and the sub-table `streams` of a
 * kind (memory.h says when functions are optional).
 */
#ifndef SHMEMI_STREAM_TABLE_H
#define SHMEMI_STREAM_TABLE_H

#include "gpu/list_entry.h"
#include "gpu/place.h"
#include "gpu/shape.h"
#include "gpu/word_step.h"

#include <stdbool.h>
#include <stddef.h>

struct shmemi_meeting; /* meeting_call.h */

/* A stream (CUDA) or queue (OpenCL) of the program, for the length of a call. */
struct shmemi_stream {
    const struct shmemi_memory *memory;
    void *handle;     /* CUstream; cl_command_queue */
    void *object;     /* the kind's record of the context */
    bool is_in_order; /* an operation of the library can be reached only when all earlier ones in it have ended */

    /* Queues only: the events to wait for, and where to put the event of what is enqueued, unless NULL. */
    unsigned n_events;
    void *const *events;
    void **event_p;

    void *watched; /* what is enqueued, for the watchdog (transport/stream/watched.h); NULL: it is not watched */
};

/* A word and the step (word_step.h) that a stream takes there: an update or a wait. */
struct shmemi_word {
    struct shmemi_place place; /* aligned to 8 bytes */
    uint64_t value;
    enum shmemi_word_step step;
};

/* An atomic operation on such a word, of 4 or 8 bytes, and where the old value belongs if it fetches. */
struct shmemi_stream_update {
    struct shmemi_place word;
    struct shmemi_amo amo;
    bool fetches;
    struct shmemi_place old;
};

/* Words of this process that a stream waits for: for all, or for any of them, whose number is stored at index. */
struct shmemi_stream_wait {
    struct shmemi_place words; /* the first of n */
    size_t n;                  /* 0: there are none; the index is SIZE_MAX then, and `words` of no meaning */
    unsigned size;             /* of a word: 4 or 8 bytes */
    enum shmemi_word_step step;
    uint64_t value;
    const int *status; /* not zero: the word is left out; NULL: none is */
    bool any;
    struct shmemi_place index; /* of a size_t, for any */
};

/* Commands that a stream carries out without a thread of the library. A function returns -ENOTSUP, not logged and with
 * nothing enqueued, when this stream cannot: the caller takes a turn (below). Host memory must be page-locked. A word
 * set by the stream becomes visible after the stream's earlier effects. At most SHMEMI_STEPS_MAX words. */
struct shmemi_stream_commands {
    /* Is the stream being captured into a graph, which may be executed any number of times (CUDA graphs)? */
    bool (*is_recording)(const struct shmemi_stream *stream);
    /* Of a stream in order that is not being captured: a number that no other ever has; 0: unknown. */
    uint64_t (*number)(const struct shmemi_stream *stream);
    int (*copy)(const struct shmemi_stream *stream, const struct shmemi_place *dest, const struct shmemi_place *source,
                size_t nbytes);
    int (*copy_shape)(const struct shmemi_stream *stream, const struct shmemi_place *dest,
                      const struct shmemi_place *source, const struct shmemi_shape *shape);
    int (*take_steps)(const struct shmemi_stream *stream, const struct shmemi_word *words, unsigned n);
    int (*store)(const struct shmemi_stream *stream, const struct shmemi_place *dest, const void *value,
                 size_t nbytes); /* at most 16 */
    /* -ENOTSUP also where the GPU's operations on this memory are not atomic with others. */
    int (*update)(const struct shmemi_stream *stream, const struct shmemi_stream_update *update);
    int (*wait_words)(const struct shmemi_stream *stream, const struct shmemi_stream_wait *wait);
    /* copy, and then take_steps of one word that is not a wait, as one operation. -ENOTSUP also where two separate ones
     * are better. */
    int (*copy_and_step)(const struct shmemi_stream *stream, const struct shmemi_place *dest,
                         const struct shmemi_place *source, size_t nbytes, const struct shmemi_word *word);
    /* Enqueue a meeting, in a stream of any context. *extras_p, NULL at first: what the meetings of a team have among
     * themselves, which take place one after the other; end_meetings frees it when all are done. */
    int (*meet)(const struct shmemi_stream *stream, const struct shmemi_meeting *meeting, void **extras_p);
    void (*end_meetings)(void **extras_p);
    /* Can kernels of this process, on the GPU of this place, take part in meetings? */
    bool (*may_meet)(const struct shmemi_place *place);
    /* GPU memory beside that of the place, all zeros, for the areas in which GPUs meet. */
    int (*allocate)(const struct shmemi_place *place, size_t nbytes, void **object_p);
    void (*free)(const struct shmemi_place *place, void *object);
    /* A place without address, in the context that this thread has chosen, or else in the usual one of the device. 0 or
     * -errno, logged. */
    int (*here)(struct shmemi_place *place_p, int device);
    /* Make in advance what streams and kernels that wait need in the context of the place. 0 or -errno, logged. */
    int (*prepare)(const struct shmemi_place *place);
    /* Wait until all streams have done what was enqueued. */
    void (*drain)(void);
    /* May kernels wait for other PEs? Not where several PEs use a device in turns (shmemi_memory_sharers): a kernel
     * that waits keeps the device until the end of its turn, and the PE that it waits for cannot go on. */
    bool (*kernels_may_wait)(void);
    /* From now on kernels may wait for copies of the library: make everything that these need. No kernel waits yet. */
    int (*make_ready)(void);
    /* This thread carries out what kernels ask for that wait: it uses a stream of its own. After make_ready. */
    void (*serve_kernels)(void);
};

/* Operations that a kind enqueues in the program's streams. All functions return at once: they do not wait for the
 * stream. */
struct shmemi_streams {
    /* Check stream->handle, and fill in the rest. -errno, and a cause in reason, when nothing can be enqueued there. */
    int (*open)(struct shmemi_stream *stream, char *reason, size_t reason_size);

    /* A turn: the stream stops there until the turn is ended. turn_state: 0 when the stream has reached the turn,
     * -EAGAIN before, another -errno when it never will. status: 0, or the -errno of the operation done during the
     * turn. */
    int (*turn_begin)(const struct shmemi_stream *stream, void **turn_p);
    int (*turn_state)(void *turn);
    void (*turn_end)(void *turn, int status);

    /* Optional. A turn at which the stream does not stop: it copies GPU memory of the kind to page-locked host memory,
     * and has reached the turn when that is done. -ENOTSUP, with nothing enqueued, when this stream cannot. */
    int (*turn_begin_with_copy)(const struct shmemi_stream *stream, void *dest, const struct shmemi_place *source,
                                size_t nbytes, void **turn_p);

    const struct shmemi_stream_commands *commands; /* optional: NULL when turns are all that the kind has */
};

#endif
