/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The process's copy threads and page-locked buffers. The threads are taken for a whole transfer, since a second one
 * would only share the bus. Small buffers are taken by one atomic operation.
 */
#include "gpu/copy_threads/copy_pool.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/wake/sleep.h"
#include "gpu/placement.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { ALIGNMENT = 1 << 21, UNIT = 4096, BUFFER_DEFAULT = 1 << 20 };

/* Memory that is page-locked for some kinds. */
struct locked {
    char *bytes; /* NULL: none */
    size_t size;
    unsigned tried;                                    /* kinds for which locking was tried: bits by OSHM_MEMTYPE_* */
    const struct shmemi_memory *done[SHMEMI_MEMTYPES]; /* the kinds for which it is locked */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t given;
    bool is_taken;
    enum shmemi_copy_pool_use use;
    pthread_t holder;
    bool is_useless; /* copies cannot use the pool, and do not try again */
    struct locked memory;
    struct shmemi_copy_pool pool;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER, .given = PTHREAD_COND_INITIALIZER};

static struct {
    pthread_mutex_t lock; /* protects memory */
    struct locked memory;
    atomic_uint locked_for; /* a copy of memory.tried that is read without the lock */
    atomic_uint free;       /* a bit for each buffer: given back by a release, taken by an acquire */
} small = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static int make(struct locked *memory, size_t size)
{
    memory->size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memory->bytes = aligned_alloc(ALIGNMENT, memory->size);
    if (!memory->bytes) {
        shmemi_warn("no memory for %zu bytes of copy buffers; copies to and from GPUs are slower", memory->size);
        return -ENOMEM;
    }
    madvise(memory->bytes, memory->size, MADV_HUGEPAGE);
    return 0;
}

/* Page-lock memory for a kind. Kinds without page-locking count as locked; one not in use yet is tried again later. */
static bool lock_for(struct locked *memory, const struct shmemi_memory *kind)
{
    unsigned bit = 1u << kind->type;
    if (!(memory->tried & bit)) {
        int rc = kind->pinning ? kind->pinning->pin(memory->bytes, memory->size) : 0;
        memory->tried |= rc == -ENODEV ? 0 : bit;
        memory->done[kind->type] = rc ? NULL : kind;
    }
    return memory->done[kind->type];
}

static void destroy(struct locked *memory)
{
    for (int type = 0; type < SHMEMI_MEMTYPES; type++)
        if (memory->done[type] && memory->done[type]->pinning)
            memory->done[type]->pinning->unpin(memory->bytes, memory->size);
    free(memory->bytes);
    *memory = (struct locked){0};
}

/* ---- Threads and their buffers ----------------------------------------------------------------------------------- */

static unsigned choose_threads(const struct shmemi_memory *memory, int device, struct shmemi_copy_cores *cores)
{
    if (!shmemi_settings.copy_chunk)
        return 0;
    if (device < 0 && memory->device_count() > 0)
        device = shmemi_placement_device(memory->type);
    shmemi_placement_copy_cores(memory, device, cores);
    unsigned threads = shmemi_settings.copy_threads ? shmemi_settings.copy_threads : cores->share;
    return threads < SHMEMI_COPY_THREADS_MAX ? threads : SHMEMI_COPY_THREADS_MAX;
}

static int open_with(unsigned threads, const struct shmemi_copy_cores *cores)
{
    struct shmemi_copy_pool *pool = &shared.pool;
    size_t chunk = shmemi_settings.copy_chunk ? shmemi_settings.copy_chunk : BUFFER_DEFAULT;
    pool->buffer_size = (chunk + UNIT - 1) / UNIT * UNIT;
    pool->n_buffers = threads ? threads * SHMEMI_COPY_BUFFERS_PER_THREAD : SHMEMI_COPY_BUFFERS_ALONE;
    int rc = make(&shared.memory, pool->n_buffers * pool->buffer_size);
    if (rc)
        return rc;
    pool->buffers = shared.memory.bytes;
    struct shmemi_double_queue_config config = {
        .threads = threads,
        .buffer_size = pool->buffer_size,
        .buffers = pool->buffers,
        .n_buffers = pool->n_buffers,
        .cpus = cores->is_known ? &cores->cpus : NULL,
    };
    rc = shmemi_double_queue_open(&config, &pool->queue);
    if (rc) {
        pool->queue = NULL;
        destroy(&shared.memory);
        return rc;
    }
    shmemi_debug("%u copy threads, %zu bytes a buffer", shmemi_double_queue_threads(pool->queue), pool->buffer_size);
    return 0;
}

/* For copies the pool is not made when it would have no threads. */
static int open_pool(const struct shmemi_memory *memory, int device, enum shmemi_copy_pool_use use)
{
    struct shmemi_copy_cores cores = {0};
    if (shared.pool.queue)
        return 0;
    unsigned threads = choose_threads(memory, device, &cores);
    return !threads && use == SHMEMI_POOL_FOR_COPIES ? -ENOTSUP : open_with(threads, &cores);
}

static int prepare_for_copies(const struct shmemi_memory *memory, int device)
{
    if (!shared.is_useless)
        shared.is_useless = open_pool(memory, device, SHMEMI_POOL_FOR_COPIES) || !lock_for(&shared.memory, memory) ||
                            !shmemi_double_queue_threads(shared.pool.queue);
    return shared.is_useless ? -ENOTSUP : 0;
}

static int prepare(const struct shmemi_memory *memory, int device, enum shmemi_copy_pool_use use)
{
    if (use == SHMEMI_POOL_FOR_COPIES)
        return prepare_for_copies(memory, device);
    int rc = open_pool(memory, device, use);
    if (!rc)
        lock_for(&shared.memory, memory);
    return rc;
}

/* Is the pool free, or taken for so long that copies do without it? */
static bool is_settled(const void *use)
{
    if (!shared.is_taken)
        return true;
    const bool is_useless = shared.use == SHMEMI_POOL_FOR_TRANSFERS || pthread_equal(shared.holder, pthread_self());
    return *(const enum shmemi_copy_pool_use *)use == SHMEMI_POOL_FOR_COPIES && is_useless;
}

/* With the lock held. */
static int await_pool(enum shmemi_copy_pool_use use)
{
    shmemi_sleep_until(&shared.given, &shared.lock, is_settled, &use);
    return shared.is_taken ? -ENOTSUP : 0;
}

int shmemi_copy_pool_take(const struct shmemi_memory *memory, int device, enum shmemi_copy_pool_use use,
                          const struct shmemi_copy_pool **pool_p)
{
    pthread_mutex_lock(&shared.lock);
    int rc = await_pool(use);
    if (!rc) {
        shared.is_taken = true; /* even while the pool is being made, since a kind may copy while it pins */
        shared.use = use;
        shared.holder = pthread_self();
    }
    pthread_mutex_unlock(&shared.lock);
    if (rc)
        return rc;
    rc = prepare(memory, device, use);
    if (rc)
        shmemi_copy_pool_give();
    else
        *pool_p = &shared.pool;
    return rc;
}

void shmemi_copy_pool_give(void)
{
    pthread_mutex_lock(&shared.lock);
    shared.is_taken = false;
    pthread_cond_broadcast(&shared.given);
    pthread_mutex_unlock(&shared.lock);
}

/* ---- Small buffers ----------------------------------------------------------------------------------------------- */

static bool prepare_small(const struct shmemi_memory *memory)
{
    pthread_mutex_lock(&small.lock);
    bool is_there = small.memory.bytes;
    if (!is_there && !make(&small.memory, (size_t)SHMEMI_SMALL_BUFFERS * SHMEMI_SMALL_BUFFER)) {
        atomic_store(&small.free, (1u << SHMEMI_SMALL_BUFFERS) - 1);
        is_there = true;
    }
    if (is_there)
        lock_for(&small.memory, memory);
    atomic_store_explicit(&small.locked_for, small.memory.tried, memory_order_release);
    pthread_mutex_unlock(&small.lock);
    return is_there;
}

char *shmemi_small_buffer_take(const struct shmemi_memory *memory)
{
    bool is_ready = atomic_load_explicit(&small.locked_for, memory_order_acquire) & 1u << memory->type;
    if (!is_ready && !prepare_small(memory))
        return NULL;
    unsigned free = atomic_load_explicit(&small.free, memory_order_relaxed);
    while (free && !atomic_compare_exchange_weak_explicit(&small.free, &free, free & (free - 1), memory_order_acquire,
                                                          memory_order_relaxed))
        continue;
    return free ? small.memory.bytes + (size_t)__builtin_ctz(free) * SHMEMI_SMALL_BUFFER : NULL;
}

void shmemi_small_buffer_give(char *buffer)
{
    unsigned number = (unsigned)((buffer - small.memory.bytes) / SHMEMI_SMALL_BUFFER);
    atomic_fetch_or_explicit(&small.free, 1u << number, memory_order_release);
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

void shmemi_copy_pool_close(void)
{
    if (shared.pool.queue)
        shmemi_double_queue_close(shared.pool.queue);
    destroy(&shared.memory);
    shared.pool = (struct shmemi_copy_pool){0};
    shared.is_useless = false;
    destroy(&small.memory);
    atomic_store(&small.free, 0);
    atomic_store(&small.locked_for, 0);
}
