/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multithreaded double queuing: large copies between host memory and a device, by way of page-locked buffers.
 *
 *      to the device     host --threads--> buffer --DMA--> device      threads produce, the caller consumes
 *      from the device   device --DMA--> buffer --threads--> host      the caller produces, threads consume
 *
 * DMA is faster than one thread that copies host memory, so several threads copy, with twice as many buffers. One queue
 * holds the buffers that wait for a thread, the other those that wait for the caller, who starts all DMA copies. This
 * file knows neither the host side nor the device: the caller passes the functions that fill or empty a buffer, and
 * that move it.
 *
 * Source: Cho, Hong, Choi, Han, "Multithreaded Double Queuing for Balanced CPU-GPU Memory Copying", SAC 2019.
 */
#ifndef SHMEMI_DOUBLE_QUEUE_H
#define SHMEMI_DOUBLE_QUEUE_H

#include "gpu/shape.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

enum { SHMEMI_COPY_THREADS_MAX = 32, SHMEMI_COPY_BUFFERS_PER_THREAD = 2, SHMEMI_COPY_BUFFERS_ALONE = 4 };
enum { SHMEMI_COPY_BUFFERS_MAX = SHMEMI_COPY_THREADS_MAX * SHMEMI_COPY_BUFFERS_PER_THREAD };

/* How host memory is cut into pieces and copied to and from buffers. A buffer holds one piece: rows without gaps. */
struct shmemi_host_side {
    /* The next piece, of 1 to limit bytes; there is one. Called by one thread at a time; must be quick. */
    void (*cut)(void *host, size_t limit, struct shmemi_piece *piece_p);
    /* Fill the buffer with a piece, or empty it. Called by several threads at once. */
    void (*copy)(const void *host, const struct shmemi_piece *piece, char *buffer);
};

struct shmemi_dma {
    /* Start to move a piece between a buffer and the device. 0 or -errno. */
    int (*start)(void *device, unsigned buffer, const struct shmemi_piece *piece);
    /* Is the move that was last started with the buffer complete? 0: yes; -EAGAIN: not yet; another -errno: it has
     * failed and does not touch the buffer any more. Moves complete in the order in which they were started. */
    int (*test)(void *device, unsigned buffer);
};

struct shmemi_queued_copy {
    bool to_device;
    size_t nbytes; /* at least 1 */
    const struct shmemi_host_side *host_side;
    void *host; /* for the functions of host_side */
    const struct shmemi_dma *dma;
    void *device; /* for the functions of dma */
};

struct shmemi_double_queue;

struct shmemi_double_queue_config {
    unsigned threads;      /* at most SHMEMI_COPY_THREADS_MAX; 0: the caller does it all */
    size_t buffer_size;    /* a multiple of a page */
    char *buffers;         /* contiguous; owned by the caller */
    unsigned n_buffers;    /* SHMEMI_COPY_BUFFERS_PER_THREAD for each thread, SHMEMI_COPY_BUFFERS_ALONE without any */
    const cpu_set_t *cpus; /* processors that the threads may use; NULL: those of the caller */
};

/* Start the threads, which sleep until there is a copy. There may be fewer than asked for. -errno, logged, when
 * none could be started. */
int shmemi_double_queue_open(const struct shmemi_double_queue_config *config, struct shmemi_double_queue **queue_p);
/* End the threads. No copy is under way. */
void shmemi_double_queue_close(struct shmemi_double_queue *queue);
unsigned shmemi_double_queue_threads(const struct shmemi_double_queue *queue);

/* Copy, and return when all is in place. The caller ensures that there is one copy at a time. Returns the first error
 * of the DMA functions; nothing is under way then either. */
int shmemi_double_queue_copy(struct shmemi_double_queue *queue, const struct shmemi_queued_copy *copy);

/* Rows of host memory as the host side of a queued copy (gpu/copy_threads/host_rows.c). */
struct shmemi_host_rows {
    char *host;
    size_t pitch; /* from row to row; ignored when there is only one */
    struct shmemi_cutter cutter;
};

extern const struct shmemi_host_side shmemi_host_rows_out; /* to the device; host is a struct shmemi_host_rows */
extern const struct shmemi_host_side shmemi_host_rows_in;

#endif
