/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pools of handles. The range of addresses is reserved at once and made accessible as it is needed. Freed items form a
 * queue, of which the oldest is used again once it is long enough.
 */
#define _GNU_SOURCE
#include "base/pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STEP = 64 << 10, RESTING = 64 }; /* bytes that are made accessible at once; freed items that wait */

static size_t item_size(const struct shmemi_pool *pool)
{
    return (size_t)1 << pool->shift;
}

/* Whole steps, so that none reaches into what lies behind the range. */
static size_t range_size(const struct shmemi_pool *pool)
{
    return (pool->most * item_size(pool) + STEP - 1) / STEP * STEP;
}

static bool open_pool(struct shmemi_pool *pool)
{
    if (pool->base)
        return true;
    pool->next_free = calloc(pool->most, sizeof *pool->next_free);
    pool->in_use = calloc(pool->most, sizeof *pool->in_use);
    void *range = mmap(NULL, range_size(pool), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pool->next_free && pool->in_use && range != MAP_FAILED) {
        pool->base = range;
        return true;
    }
    if (range != MAP_FAILED)
        munmap(range, range_size(pool));
    free(pool->next_free);
    free(pool->in_use);
    return false;
}

static char *grow(struct shmemi_pool *pool)
{
    if (pool->n == pool->most)
        return NULL;
    size_t used = pool->n * item_size(pool);
    if (used % STEP == 0 && mprotect(pool->base + used, STEP, PROT_READ | PROT_WRITE))
        return NULL;
    atomic_fetch_add_explicit(&pool->n, 1, memory_order_release);
    return pool->base + used;
}

static char *take_oldest(struct shmemi_pool *pool)
{
    uint32_t i = pool->first_free;
    pool->first_free = pool->next_free[i];
    pool->n_free--;
    return pool->base + i * item_size(pool);
}

void *shmemi_pool_take(struct shmemi_pool *pool)
{
    char *item = NULL;
    pthread_mutex_lock(&pool->lock);
    if (open_pool(pool)) {
        if (pool->n_free < RESTING)
            item = grow(pool);
        if (!item && pool->n_free)
            item = take_oldest(pool);
    }
    if (item) {
        memset(item, 0, item_size(pool));
        pool->in_use[(size_t)(item - pool->base) >> pool->shift] = true;
    }
    pthread_mutex_unlock(&pool->lock);
    return item;
}

void shmemi_pool_give_back(struct shmemi_pool *pool, void *item)
{
    if (!item)
        return;
    uint32_t i = (uint32_t)((size_t)((char *)item - pool->base) >> pool->shift);
    pthread_mutex_lock(&pool->lock);
    pool->in_use[i] = false;
    if (pool->n_free++)
        pool->next_free[pool->last_free] = i;
    else
        pool->first_free = i;
    pool->last_free = i;
    pthread_mutex_unlock(&pool->lock);
}
