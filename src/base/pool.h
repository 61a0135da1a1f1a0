/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pools of items of one size whose addresses are handles of the program. All items of a pool lie in one range of
 * addresses, so that a handle that is none (a wild pointer, one that was freed) is recognised before it is followed.
 * An item that was freed is used again only after many others, so that its old handle is refused for a while.
 */
#ifndef SHMEMI_POOL_H
#define SHMEMI_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shmemi_pool {
    unsigned shift; /* an item takes up 2^shift bytes */
    uint32_t most;  /* items */
    pthread_mutex_t lock;
    _Atomic uint32_t n;  /* items that have ever been in use: the part of the range that may be read */
    char *_Atomic base;  /* NULL until the first item is made; set, as in_use is, before n is raised */
    uint32_t *next_free; /* of each item: the one that was freed next */
    atomic_bool *in_use;
    uint32_t first_free, last_free, n_free;
};

#define SHMEMI_POOL_SHIFT(_type) (64 - (unsigned)__builtin_clzll(sizeof(_type) - 1))

/* Initialiser of a pool for items of a type. */
#define SHMEMI_POOL(_type, _most)                                                                                      \
    {                                                                                                                  \
        .shift = SHMEMI_POOL_SHIFT(_type), .most = (_most), .lock = PTHREAD_MUTEX_INITIALIZER                          \
    }

/* An item, all zero. NULL if there is no memory or there are too many. Any thread, as all below. */
void *shmemi_pool_take(struct shmemi_pool *pool);
/* Its memory stays readable, and unchanged until it is taken again. */
void shmemi_pool_give_back(struct shmemi_pool *pool, void *item);

/* Whether a handle is the address of an item that is or was in use. Other threads may take the first items meanwhile: n
 * is read first, without a lock, and once it is not 0 the base stays. The rotation moves the bits that are set in an
 * address between two items to the top. shift: that of the pool, so that it is a constant on fast paths. */
static inline __attribute__((always_inline)) bool shmemi_pool_spans(const struct shmemi_pool *pool, const void *handle,
                                                                    unsigned shift)
{
    const uint32_t n = atomic_load_explicit(&pool->n, memory_order_acquire);
    uint64_t offset = (uintptr_t)handle - (uintptr_t)atomic_load_explicit(&pool->base, memory_order_relaxed);
    return (offset >> shift | offset << (64 - shift)) < n;
}

static inline bool shmemi_pool_holds(const struct shmemi_pool *pool, const void *handle)
{
    if (!shmemi_pool_spans(pool, handle, pool->shift))
        return false;
    uintptr_t offset = (uintptr_t)handle - (uintptr_t)atomic_load_explicit(&pool->base, memory_order_relaxed);
    return atomic_load_explicit(&pool->in_use[offset >> pool->shift], memory_order_relaxed);
}

#endif
