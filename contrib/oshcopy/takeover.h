/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A copy that a program has asked the CUDA driver for, carried out by the copy threads instead (gpu/copy_threads/double_queue.h) if
 * it is one of pageable memory. Part of the library that oshcopy preloads. Any thread may call these functions.
 */
#ifndef SHMEMI_TAKEOVER_H
#define SHMEMI_TAKEOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shmemi_direction { SHMEMI_TO_GPU, SHMEMI_FROM_GPU, SHMEMI_EITHER };

/* What became of a copy. All but TAKEN: the caller leaves it to the driver. */
enum shmemi_outcome {
    SHMEMI_COPY_TAKEN,
    SHMEMI_COPY_SMALL,
    SHMEMI_COPY_OTHER,    /* not between pageable host memory and memory of a GPU */
    SHMEMI_COPY_CAPTURED, /* its stream is being captured into a graph */
    SHMEMI_COPY_EARLY,    /* the copy threads are still being made */
    SHMEMI_COPY_REFUSED,  /* no threads, no page-locked buffers, or an error, which the driver will report */
    SHMEMI_OUTCOMES
};

struct shmemi_program_copy {
    uintptr_t dest, source;
    size_t nbytes;                   /* of all rows */
    size_t rows;                     /* 1: consecutive bytes */
    size_t dest_pitch, source_pitch; /* bytes from row to row */
    enum shmemi_direction direction; /* EITHER becomes what it was found to be */
    bool is_async;                   /* the driver's call returns before the stream has come to the copy */
    bool per_thread;                 /* the default stream is the thread's own one */
    void *stream;                    /* CUstream; NULL: the default stream */
};

/* Fill in addresses and rows from the driver's description of a copy of rows (CUDA_MEMCPY2D). False: it is not between
 * plain memory, or makes no sense. */
bool shmemi_describe_rows(const void *description, struct shmemi_program_copy *copy);

/* Carry out the copy as the driver would, and return when all is in place: after what is in the stream before it (in
 * the legacy default stream: in all blocking streams). Unless the result is TAKEN, the copy has to be made by the
 * driver. A part of the data may have been copied then, which does no harm to copying all of it. */
enum shmemi_outcome shmemi_take_over(struct shmemi_program_copy *copy);

/* Is this thread inside shmemi_take_over? What it asks for is to go to the driver itself then. */
bool shmemi_is_taking_over(void);

/* In the child of a fork: CUDA cannot be used there if the parent has used it, nor are there any copy threads. */
void shmemi_takeover_forked(void);

#endif
