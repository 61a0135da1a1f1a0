/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of gpu_matrix share: the buffers, its calls, and the ways of making each.
 */
#ifndef OSU_MATRIX_H
#define OSU_MATRIX_H

#include "tests/osu/by_hand.h"
#include "tests/osu/session.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MATRIX_STRIDE = 16,           /* of the strided put, in elements of 8 bytes */
    MATRIX_BURST_DISTANCE = 64,   /* bytes between the places of its messages, at least */
    MATRIX_BURST_BYTES = 4 << 20, /* of all messages of a burst, at most...     */
    MATRIX_BURST_MESSAGES = 4096, /* ... so many messages, ...                  */
    MATRIX_BURST_LEAST = 4,       /* ... and at least                           */
    MATRIX_ROUNDS = 3,            /* the median of which counts                 */
};

struct matrix {
    struct osu_session session;
    struct latency_buffers buffers; /* local: source of puts, dest of gets; both mapped. stage: on the heap */
    struct osu_memory host_source;  /* on the heap, as large as the stage                                   */
    struct by_hand hand;            /* with the same buffers                                                */
    uint64_t *signal;               /* on the heap                                                          */
    uint64_t n_signals;
    struct queue *queue;          /* of the device, for operations on streams and queues */
    void *peer, *host_peer;       /* on PE 0: PE 1's object and stage as pointers of this process */
    bool has_peer, has_host_peer; /* there are such pointers; both PEs know */
    double block_us;              /* how long a block of calls should take                     */
    unsigned seed;
};

/* The columns of the table. */
enum matrix_column { MATRIX_MAPPED, MATRIX_BY_HAND, MATRIX_HOST, MATRIX_RAW, MATRIX_WAYS };

/* One way of making a call: either PE 0 alone does it, `act`, and is timed; or both PEs, `timed`, whose result on PE 0
 * counts. Times are microseconds of `count` calls. Neither: there is no such way. */
struct matrix_way {
    void (*act)(const struct matrix *matrix, size_t size, long count);
    double (*timed)(struct matrix *matrix, size_t size, long count);
    bool (*possible)(const struct matrix *matrix, size_t size); /* the same answer on both PEs; NULL: always */
};

struct matrix_call {
    const char *name;
    size_t most;                 /* bytes of a call */
    size_t (*span)(size_t size); /* bytes of the buffers that a call reaches over */
    long (*parts)(size_t size);  /* operations of a call; the figure is that of one of them */
    struct matrix_way way[MATRIX_WAYS];
    /* Both PEs set the contents before a call by the first or second way and compare them afterwards. */
    void (*prepare)(struct matrix *matrix, size_t span);
    bool (*right)(struct matrix *matrix, size_t size); /* of this PE's buffers */
};

extern const struct matrix_call matrix_calls[];
extern const size_t matrix_n_calls;

/* Times of one operation in microseconds, NAN where there is none. */
struct matrix_cell {
    double us[MATRIX_WAYS];
    bool right;
};

/* Both PEs call; the result on PE 0 counts. */
struct matrix_cell matrix_measure(struct matrix *matrix, const struct matrix_call *call, size_t size);

#endif
