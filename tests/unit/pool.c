/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pools of handles: a handle is known while it is in use and refused otherwise, wild pointers are refused, a freed item
 * rests before it is used again, and threads may ask for handles while another one takes the very first items.
 */
#include "base/pool.h"

#include "unit.h"

#include <string.h>

struct item {
    struct item *self;
    char rest[40];
};

enum { MOST = 5000, TURNS = 20000 };

static struct shmemi_pool pool = SHMEMI_POOL(struct item, MOST);

static bool spans(const void *handle)
{
    return shmemi_pool_spans(&pool, handle, SHMEMI_POOL_SHIFT(struct item));
}

static struct item *take(void)
{
    static const struct item zero;
    struct item *item = shmemi_pool_take(&pool);
    CHECK(item && !memcmp(item, &zero, sizeof zero) && spans(item) && shmemi_pool_holds(&pool, item));
    item->self = item;
    return item;
}

/* Any value, and what another thread has taken: it is known, whole, or refused. */
static struct item *_Atomic shown;
static atomic_bool is_over;

static void *ask(void *argument)
{
    (void)argument;
    static const uintptr_t wild[] = {0, 1, 64, 4096, UINTPTR_MAX, UINTPTR_MAX - 63};
    while (!atomic_load(&is_over)) {
        for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++)
            CHECK(!shmemi_pool_holds(&pool, (void *)wild[i]));
        CHECK(!shmemi_pool_holds(&pool, &pool));
        struct item *item = atomic_load(&shown);
        if (item && shmemi_pool_holds(&pool, item))
            CHECK(spans(item));
    }
    return NULL;
}

static void check_threads(void)
{
    enum { THREADS = 2 };
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&thread[i], NULL, ask, NULL));
    for (int i = 0; i < TURNS; i++) {
        struct item *item = take();
        atomic_store(&shown, item);
        shmemi_pool_give_back(&pool, item);
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

static void check_freed(void)
{
    struct item *item = take();
    shmemi_pool_give_back(&pool, item);
    CHECK(spans(item) && !shmemi_pool_holds(&pool, item) && item->self == item); /* still readable */
    CHECK(take() != item);
    shmemi_pool_give_back(&pool, NULL);
}

static void check_addresses(void)
{
    char *item = (char *)take();
    const size_t size = (size_t)1 << SHMEMI_POOL_SHIFT(struct item);
    CHECK(size == 64 && (uintptr_t)item % size == 0);
    for (size_t i = 1; i < size; i++)
        CHECK(!spans(item + i));
    CHECK(!shmemi_pool_holds(&pool, item + (size_t)MOST * size) && !shmemi_pool_holds(&pool, item - MOST * size));
}

static void check_full(void)
{
    static struct item *all[MOST + 1];
    int n = 0;
    while ((all[n] = shmemi_pool_take(&pool)))
        all[n++]->self = NULL;
    CHECK(n > MOST - 100 && n < MOST);
    while (n)
        shmemi_pool_give_back(&pool, all[--n]);
    take();
}

int main(void)
{
    CHECK(!spans(NULL) && !shmemi_pool_holds(&pool, &pool)); /* nothing has been taken yet */
    check_threads();
    check_freed();
    check_addresses();
    check_full();
    return 0;
}
