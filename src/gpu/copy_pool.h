/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copy threads with their page-locked buffers, of which a process has one set, and small page-locked buffers. Made when
 * first taken; for copies of pageable memory and for deep copy.
 */
#ifndef SHMEMI_COPY_POOL_H
#define SHMEMI_COPY_POOL_H

#include "gpu/double_queue.h"
#include "gpu/memory.h"

struct shmemi_copy_pool {
    struct shmemi_double_queue *queue;
    char *buffers; /* one behind the other */
    size_t buffer_size;
    unsigned n_buffers;
};

/* Who waits for other PEs while it has the pool must say so: nobody in a service thread may wait for it then. */
enum shmemi_copy_pool_use { SHMEMI_POOL_FOR_COPIES, SHMEMI_POOL_FOR_TRANSFERS };

/* Take the pool, waiting for whoever has it. Its buffers are page-locked for the memory's kind, if that is possible.
 * device: an ordinal near whose cores threads are placed when there are none yet; -1: not known, this PE's own.
 * COPIES: -ENOTSUP, quietly, when there are no threads, the buffers are not page-locked, or the pool is taken for
 * transfers, or by this thread. TRANSFERS: -ENOMEM, logged; there need not be threads. */
int shmemi_copy_pool_take(const struct shmemi_memory *memory, int device, enum shmemi_copy_pool_use use,
                          const struct shmemi_copy_pool **pool_p);
void shmemi_copy_pool_give(void);

/* A buffer of SHMEMI_SMALL_BUFFER bytes, page-locked for the memory's kind if possible; NULL when all are in use. */
enum { SHMEMI_SMALL_BUFFER = 256 << 10, SHMEMI_SMALL_BUFFERS = 16 };
char *shmemi_small_buffer_take(const struct shmemi_memory *memory);
void shmemi_small_buffer_give(char *buffer);

/* End the threads and free everything; nothing is taken. Before a kind for which buffers are page-locked is closed. */
void shmemi_copy_pool_close(void);

#endif
