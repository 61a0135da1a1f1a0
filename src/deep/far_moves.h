/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the pipeline does with a far side: where it is, and moves of pieces to it or from it.
 */
#ifndef SHMEMI_DEEP_FAR_MOVES_H
#define SHMEMI_DEEP_FAR_MOVES_H

#include "deep/pipeline.h"

#include "gpu/copy_threads/copy_pool.h"

struct shmemi_far_moves;

/* A transfer, the argument of its moves. */
struct shmemi_piped {
    const struct shmemi_far_moves *moves;
    bool is_send;
    struct shmemi_event event[SHMEMI_COPY_BUFFERS_MAX]; /* for each buffer, if the far side is a place */
    struct shmemi_event *direct_event;
    size_t direct_started; /* to each far side */
    unsigned spins;
};

/* A move of bytes [at, at + nbytes) of the data. A number below SHMEMI_COPY_BUFFERS_MAX is a buffer, any other a direct
 * range. */
struct shmemi_far_move {
    const struct shmemi_far_side *far;
    size_t number;
    char *bytes;
    size_t at, nbytes;
};

/* Moves to and from one kind of far side. */
struct shmemi_far_moves {
    int (*start)(struct shmemi_piped *piped, const struct shmemi_far_move *move);
    int (*test)(struct shmemi_piped *piped, unsigned buffer);
    int (*finish)(struct shmemi_piped *piped); /* wait for all moves that are still in progress */
};

/* Those for far sides like this one. */
const struct shmemi_far_moves *shmemi_far_moves_of(const struct shmemi_far_side *far);
/* A move that is complete on return: the bytes of one small buffer. */
int shmemi_far_move_small(const struct shmemi_far_move *move, bool is_send);

/* The kind of memory whose device accesses the buffers. */
const struct shmemi_memory *shmemi_far_memory(const struct shmemi_far_side *far);
/* Where the far side is mapped into this process as host memory, or NULL. */
char *shmemi_far_host(const struct shmemi_far_side *far);
/* Register the buffers with the network, if it moves them; the first transfer does. */
void shmemi_far_register(const struct shmemi_copy_pool *pool, const struct shmemi_far_side *far);

#endif
