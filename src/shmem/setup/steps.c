/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The steps of shmem_init: how long they take, and the end of the PE when one takes for ever.
 */
#include "shmem/setup/steps.h"

#include "base/log.h"
#include "base/settings.h"
#include "base/tuning.h"
#include "instrument/watch.h"
#include "instrument/watchdog.h"

#include <pthread.h>

static struct {
    const char *name[SHMEMI_INIT_STEPS_MAX];
    uint64_t begin[SHMEMI_INIT_STEPS_MAX + 1];
    int n;
    pthread_mutex_t lock; /* of what the watchdog's thread reads */
} steps = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* By the watchdog's thread. The settings are read meanwhile, so the limit is looked up each time. */
static bool look(uint64_t now)
{
    pthread_mutex_lock(&steps.lock);
    uint64_t seconds = (now - steps.begin[0]) / 1000000000u;
    if (shmemi_settings.timeout && seconds > shmemi_settings.timeout + SHMEMI_INIT_GRACE_SECONDS)
        shmemi_fatal("shmem_init has not ended within %zu s (SHMEM_TIMEOUT): it does not come back from this step: %s",
                     shmemi_settings.timeout, steps.name[steps.n - 1]);
    pthread_mutex_unlock(&steps.lock);
    return true;
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
    shmemi_step(step);
    shmemi_watchdog_call(look, NULL);
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
    shmemi_watchdog_stop();
    print_times();
}
