/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The thread sleeps until something waits, and then looks at all of it in turn.
 */
#define _GNU_SOURCE
#include "instrument/watchdog.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/thread/thread_start.h"
#include "base/tuning.h"
#include "base/wake/sleep.h"
#include "gpu/thread_cores.h"
#include "instrument/trace.h"

#include <pthread.h>
#include <string.h>

enum { LISTS_MOST = 3 }; /* of streams, of kernels, of shmem_init */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool runs, stops, has_failed;
    bool is_called; /* since the thread began to look */
    shmemi_watchdog_look *look[LISTS_MOST];
} dog = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static bool has_to_stop(const void *nothing)
{
    (void)nothing;
    return dog.stops;
}

static bool has_to_wake(const void *nothing)
{
    (void)nothing;
    return dog.is_called || dog.stops;
}

/* With the lock held, which it lets go while it looks. */
static bool look(void)
{
    bool is_left = false;
    for (int i = 0; i < LISTS_MOST && dog.look[i]; i++) {
        shmemi_watchdog_look *const list = dog.look[i];
        pthread_mutex_unlock(&dog.lock);
        is_left |= list(shmemi_clock());
        pthread_mutex_lock(&dog.lock);
    }
    return is_left;
}

/* With the lock held. */
static void sleep_a_while(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += SHMEMI_WATCHDOG_LOOK_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    shmemi_sleep_until_or(&dog.changed, &dog.lock, has_to_stop, NULL, &until);
}

static void *run(void *argument)
{
    (void)argument;
    shmemi_thread_cores_enter();
    pthread_setname_np(pthread_self(), "shmem-watchdog");
    shmemi_trace_name_thread("watchdog");
    pthread_mutex_lock(&dog.lock);
    while (!dog.stops) {
        dog.is_called = false;
        if (look())
            sleep_a_while();
        else
            shmemi_sleep_until(&dog.changed, &dog.lock, has_to_wake, NULL);
    }
    pthread_mutex_unlock(&dog.lock);
    return NULL;
}

/* With the lock held. */
static bool start_once(const char *what)
{
    if (dog.runs || dog.has_failed)
        return dog.runs;
    dog.stops = false;
    int rc = shmemi_thread_create(&dog.thread, NULL, run, NULL);
    dog.runs = !rc;
    dog.has_failed = rc;
    if (rc && what)
        shmemi_warn("SHMEM_WATCHDOG: %s are not watched, since the thread for that cannot be started: %s%s", what,
                    strerror(-rc), shmemi_remedy(-rc));
    return dog.runs;
}

bool shmemi_watchdog_call(shmemi_watchdog_look *look, const char *what)
{
    int i = 0;
    pthread_mutex_lock(&dog.lock);
    while (dog.look[i] && dog.look[i] != look)
        i++;
    dog.look[i] = look;
    dog.is_called = true;
    pthread_cond_signal(&dog.changed);
    const bool runs = start_once(what);
    pthread_mutex_unlock(&dog.lock);
    return runs;
}

void shmemi_watchdog_stop(void)
{
    pthread_mutex_lock(&dog.lock);
    const bool runs = dog.runs;
    dog.stops = true;
    dog.runs = dog.has_failed = false;
    pthread_cond_signal(&dog.changed);
    pthread_mutex_unlock(&dog.lock);
    if (runs)
        pthread_join(dog.thread, NULL);
    memset(dog.look, 0, sizeof dog.look);
}
