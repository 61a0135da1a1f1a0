/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steps of shmem_init: how long they take, and a thread that ends the PE when one takes for ever.
 */
#include "shmem/steps.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/thread/thread_start.h"
#include "base/wake/sleep.h"
#include "base/tuning.h"
#include "instrument/watch.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

static struct {
    const char *name[SHMEMI_INIT_STEPS_MAX];
    uint64_t begin[SHMEMI_INIT_STEPS_MAX + 1];
    int n;
    pthread_mutex_t lock; /* of `n` and `is_over`, which the thread reads */
    pthread_cond_t over;
    bool is_over, is_watched;
    pthread_t watcher;
} steps = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool are_over(const void *nothing)
{
    (void)nothing;
    return steps.is_over;
}

/* Returns false when the steps are over. The settings are read meanwhile, so the limit is looked up each time. */
static bool wait_a_second(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec++;
    return !shmemi_sleep_until_or(&steps.over, &steps.lock, are_over, NULL, &time);
}

static void *watch(void *argument)
{
    (void)argument;
    pthread_mutex_lock(&steps.lock);
    while (wait_a_second()) {
        uint64_t seconds = (shmemi_clock() - steps.begin[0]) / 1000000000u;
        if (shmemi_settings.timeout && seconds > shmemi_settings.timeout + SHMEMI_INIT_GRACE_SECONDS)
            shmemi_fatal("shmem_init has not ended within %zu s (SHMEM_TIMEOUT): it does not come back from this step: "
                         "%s",
                         shmemi_settings.timeout, steps.name[steps.n - 1]);
    }
    pthread_mutex_unlock(&steps.lock);
    return NULL;
}

static void start_watcher(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&steps.over, &attributes);
    pthread_condattr_destroy(&attributes);
    steps.is_watched = !shmemi_thread_create(&steps.watcher, NULL, watch, NULL);
}

void shmemi_step(const char *step)
{
    pthread_mutex_lock(&steps.lock);
    if (steps.n < SHMEMI_INIT_STEPS_MAX) {
        steps.begin[steps.n] = shmemi_clock();
        steps.name[steps.n++] = step;
    }
    pthread_mutex_unlock(&steps.lock);
}

void shmemi_steps_begin(const char *step)
{
    steps.n = 0;
    steps.is_over = false;
    shmemi_step(step);
    start_watcher();
}

const char *shmemi_step_taken(int i, uint64_t *ns_p)
{
    if (i >= steps.n)
        return NULL;
    *ns_p = steps.begin[i + 1] - steps.begin[i];
    return steps.name[i];
}

static void print_times(void)
{
    char text[400] = "";
    steps.begin[steps.n] = shmemi_clock();
    for (int i = 0; i < steps.n; i++)
        shmemi_append(text, sizeof text, ", %s %.3f", steps.name[i],
                      (double)(steps.begin[i + 1] - steps.begin[i]) * 1e-9);
    shmemi_debug("start-up took %.3f s%s", (double)(steps.begin[steps.n] - steps.begin[0]) * 1e-9, text);
}

void shmemi_steps_end(void)
{
    pthread_mutex_lock(&steps.lock);
    steps.is_over = true;
    if (steps.is_watched)
        pthread_cond_signal(&steps.over);
    pthread_mutex_unlock(&steps.lock);
    if (steps.is_watched)
        pthread_join(steps.watcher, NULL);
    steps.is_watched = false;
    print_times();
}
