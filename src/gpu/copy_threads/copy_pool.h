/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The copy threads of a process with their page-locked buffers (the pool), and small page-locked buffers. For copies of
 * pageable memory (gpu/device/pageable.c) and for deep copy. Made when first taken.
 */
#ifndef SHMEMI_COPY_POOL_H
#define SHMEMI_COPY_POOL_H

#include "gpu/copy_threads/double_queue.h"
#include "gpu/memory.h"

struct shmemi_copy_pool {
    struct shmemi_double_queue *queue;
    char *buffers; /* contiguous: n_buffers * buffer_size bytes */
    size_t buffer_size;
    unsigned n_buffers;
};

/* TRANSFERS: the holder waits for other PEs while it has the pool. Service threads, which only take it for COPIES, must
 * not wait for the pool then. */
enum shmemi_copy_pool_use { SHMEMI_POOL_FOR_COPIES, SHMEMI_POOL_FOR_TRANSFERS };

/* Take the pool, waiting until it is free. Its buffers are page-locked for the memory's kind, if that is possible.
 * device: threads that are made now run on cores near the device with this ordinal; -1: near this PE's own.
 * COPIES: -ENOTSUP, not logged, when there are no threads, when the buffers are not page-locked, or when the pool is in
 * use for transfers or by this thread. TRANSFERS: -ENOMEM, logged; the pool may have no threads. */
int shmemi_copy_pool_take(const struct shmemi_memory *memory, int device, enum shmemi_copy_pool_use use,
                          const struct shmemi_copy_pool **pool_p);
void shmemi_copy_pool_give(void);

/* A buffer of SHMEMI_SMALL_BUFFER bytes, page-locked for the memory's kind if possible; NULL when all are in use. */
enum { SHMEMI_SMALL_BUFFER = 256 << 10, SHMEMI_SMALL_BUFFERS = 16 };
char *shmemi_small_buffer_take(const struct shmemi_memory *memory);
void shmemi_small_buffer_give(char *buffer);

/* End the threads and free everything, while nothing is taken; before closing a kind for which buffers are pinned. */
void shmemi_copy_pool_close(void);

#endif
