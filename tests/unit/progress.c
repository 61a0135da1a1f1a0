/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which workers a thread runs: all of them, or all but those that serve other PEs; and only one thread serves at a time.
 */
#include "transport/progress.h"

#include "unit.h"

#include <pthread.h>

static _Atomic unsigned n_own, n_for_others;

static unsigned advance_own(void)
{
    n_own++;
    return 1;
}

static unsigned advance_for_others(void)
{
    n_for_others++;
    return 1;
}

static int until_woken(void)
{
    return -1;
}

static const struct shmemi_worker of_this_pe = {
    .name = "of this PE",
    .work = &shmemi_work_is_unknown,
    .has_work = shmemi_has_work_always,
    .advance = advance_own,
    .sleep_ms = until_woken,
    .sweep = shmemi_sweep_nothing,
};
static const struct shmemi_worker for_others = {
    .name = "for other PEs",
    .is_exclusive = true,
    .work = &shmemi_work_is_unknown,
    .has_work = shmemi_has_work_always,
    .advance = advance_for_others,
    .sleep_ms = until_woken,
    .sweep = shmemi_sweep_nothing,
};
static const struct shmemi_worker *const workers[] = {&for_others, &of_this_pe};

/* How many advances a turn of the calling thread has made. */
static void expect(unsigned own, unsigned others)
{
    n_own = n_for_others = 0;
    CHECK(shmemi_work(SHMEMI_TURN_OF_WAITER) == own + others);
    CHECK(n_own == own && n_for_others == others);
}

static void *work_elsewhere(void *others)
{
    expect(1, others != NULL);
    return NULL;
}

static void expect_elsewhere(bool serves)
{
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, work_elsewhere, serves ? &thread : NULL));
    CHECK(!pthread_join(thread, NULL));
}

int main(void)
{
    shmemi_progress_use(workers, 2);
    expect(1, 1);
    shmemi_progress_leave_requests(true);
    expect(1, 0);
    expect_elsewhere(true);
    shmemi_progress_leave_requests(false);
    expect(1, 1);

    shmemi_service_lock();
    expect_elsewhere(false);
    expect(1, 1); /* the lock is this thread's */
    shmemi_service_unlock();
    expect_elsewhere(true);

    shmemi_progress_use(NULL, 0);
    expect(0, 0);
    return 0;
}
