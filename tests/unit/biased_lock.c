/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Locks that are biased to their first user: exclusion between the owner and others, before, while and after the lock
 * becomes an ordinary one, and when it is the owner's again; trying; and an owner that is gone.
 */
#include "base/thread/biased_lock.h"

#include "tests/patience.h"
#include "unit.h"

#include <pthread.h>

static struct shmemi_biased_lock lock;
static long sum; /* under the lock */

static void add(long n)
{
    for (long i = 0; i < n; i++) {
        shmemi_biased_lock(&lock);
        sum++;
        shmemi_biased_unlock(&lock);
    }
}

static void reset(void)
{
    static const struct shmemi_biased_lock fresh;
    lock = fresh;
    sum = 0;
}

static void check_alone(void)
{
    reset();
    CHECK(shmemi_biased_try_lock(&lock));
    CHECK(!shmemi_biased_try_lock(&lock));
    shmemi_biased_unlock(&lock);
    add(1000);
    CHECK(sum == 1000 && shmemi_biased_is_owner(&lock) && !lock.owner_is_inside && !lock.is_taken);
    shmemi_biased_lock(&lock);
    CHECK(!shmemi_biased_try_lock(&lock));
    shmemi_biased_unlock(&lock);
    CHECK(shmemi_biased_try_lock(&lock));
    CHECK(!shmemi_biased_try_lock(&lock));
    shmemi_biased_unlock(&lock);
    CHECK(!lock.owner_is_inside && !lock.is_taken);
}

static void *try_once(void *got)
{
    *(bool *)got = shmemi_biased_try_lock(&lock);
    if (*(bool *)got)
        shmemi_biased_unlock(&lock);
    return NULL;
}

static bool another_gets_it(void)
{
    pthread_t thread;
    bool got;
    CHECK(!pthread_create(&thread, NULL, try_once, &got) && !pthread_join(thread, NULL));
    return got;
}

static void check_try(void)
{
    reset();
    add(2);
    shmemi_biased_lock(&lock);
    CHECK(!another_gets_it() && !another_gets_it()); /* the first has made it an ordinary one */
    shmemi_biased_unlock(&lock);
    CHECK(another_gets_it() && lock.is_ordinary);
    shmemi_biased_lock(&lock);
    CHECK(!another_gets_it() && !shmemi_biased_try_lock(&lock));
    shmemi_biased_unlock(&lock);
    CHECK(another_gets_it());
}

/* Whoever comes in between begins the count anew. */
static void check_own_again(void)
{
    reset();
    add(2);
    if (lock.is_ordinary)
        return; /* always: the kernel has no membarrier */
    CHECK(another_gets_it() && lock.is_ordinary);
    add(SHMEMI_BIASED_TURNS - 1);
    CHECK(lock.is_ordinary && another_gets_it());
    add(SHMEMI_BIASED_TURNS - 1);
    CHECK(lock.is_ordinary);
    shmemi_biased_lock(&lock);
    CHECK(!shmemi_biased_try_lock(&lock) && !another_gets_it());
    shmemi_biased_unlock(&lock);
    CHECK(!lock.is_ordinary && !lock.is_taken);
    shmemi_biased_lock(&lock);
    CHECK(lock.owner_is_inside && !another_gets_it());
    shmemi_biased_unlock(&lock);
    CHECK(another_gets_it() && lock.is_ordinary);
}

static void *add_some(void *n)
{
    add(*(long *)n);
    return NULL;
}

/* The owner has ended; whoever comes may even be at the address that named it. */
static void check_gone(void)
{
    pthread_t thread;
    long n = 10;
    reset();
    for (int i = 0; i < 3; i++)
        CHECK(!pthread_create(&thread, NULL, add_some, &n) && !pthread_join(thread, NULL));
    add(10);
    CHECK(sum == 40);
}

static atomic_int turn; /* of the round that has begun */

/* Others come at various moments of the owner's work. */
static void *disturb(void *number)
{
    enum { ADDS = 20 };
    for (int round = 1; round <= 2000; round++) {
        for (unsigned turns = 0; (atomic_load(&turn) & 0xfffff) < round;)
            wait_a_turn(&turns);
        for (volatile int i = 0; i < round % 97 * 11; i++)
            continue;
        if (*(int *)number == 0)
            add(ADDS);
        unsigned turns = 0;
        for (int added = 0; *(int *)number && added < ADDS;)
            if (shmemi_biased_try_lock(&lock)) {
                sum++;
                added++;
                shmemi_biased_unlock(&lock);
            } else
                wait_a_turn(&turns);
        atomic_fetch_sub(&turn, 1 << 20);
    }
    return NULL;
}

static void check_rounds(void)
{
    enum { OTHERS = 2, ROUNDS = 2000, ADDS = 2 * SHMEMI_BIASED_TURNS };
    int numbers[OTHERS] = {0, 1};
    pthread_t threads[OTHERS];
    atomic_store(&turn, 0);
    for (int i = 0; i < OTHERS; i++)
        CHECK(!pthread_create(&threads[i], NULL, disturb, &numbers[i]));
    for (int round = 1; round <= ROUNDS; round++) {
        reset();
        add(1); /* is the owner */
        atomic_store(&turn, (OTHERS << 20) + round);
        add(ADDS);
        for (unsigned turns = 0; atomic_load(&turn) >> 20;)
            wait_a_turn(&turns);
        CHECK(sum == 1 + ADDS + OTHERS * 20 && !lock.owner_is_inside && !lock.is_taken);
    }
    for (int i = 0; i < OTHERS; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    check_alone();
    check_try();
    check_own_again();
    check_gone();
    check_rounds();
    return 0;
}
