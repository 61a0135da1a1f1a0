/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A biased lock between its owner and others, who lock it and try it: nobody is inside while somebody else is, across
 * all its changes between an ordinary lock and the owner's own.
 */
#include "base/thread/biased_lock.h"

#include "tests/interleave/seeded.h"
#include "tests/patience.h"
#include "tests/unit/unit.h"

#include <pthread.h>

enum { OTHERS = 2, TURNS = 40, TURNS_OF_OWNER = 3 * SHMEMI_BIASED_TURNS };

static struct shmemi_biased_lock lock;
static atomic_int inside;
static long sum; /* under the lock */
static atomic_bool has_owner;

static void count_inside(void)
{
    CHECK(atomic_fetch_add(&inside, 1) == 0);
    const long before = sum;
    shmemi_interleave();
    sum = before + 1;
    atomic_fetch_sub(&inside, 1);
    shmemi_biased_unlock(&lock);
}

static void *disturb(void *tries)
{
    unsigned turns = 0;
    while (!atomic_load(&has_owner))
        wait_a_turn(&turns);
    for (int i = 0; i < TURNS; i++) {
        turns = 0;
        while (tries && !shmemi_biased_try_lock(&lock))
            wait_a_turn(&turns);
        if (!tries)
            shmemi_biased_lock(&lock);
        count_inside();
        shmemi_interleave();
    }
    return NULL;
}

static void round_of_turns(unsigned seed)
{
    static const struct shmemi_biased_lock fresh;
    pthread_t threads[OTHERS];
    lock = fresh;
    sum = 0;
    atomic_store(&has_owner, false);
    for (unsigned i = 0; i < OTHERS; i++)
        CHECK(!pthread_create(&threads[i], NULL, disturb, (seed + i) % 3 ? NULL : &sum));
    for (int i = 0; i < TURNS_OF_OWNER; i++) {
        shmemi_biased_lock(&lock);
        count_inside();
        atomic_store(&has_owner, true);
    }
    for (int i = 0; i < OTHERS; i++)
        pthread_join(threads[i], NULL);
    CHECK(sum == OTHERS * TURNS + TURNS_OF_OWNER && !lock.is_taken && !lock.owner_is_inside);
}

int main(int argc, char **argv)
{
    return seeded_main(argc, argv, round_of_turns);
}
