/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads are started, or tried.
 */
#define _GNU_SOURCE
#include "base/thread/thread_start.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/thread/cores.h"
#include "base/tuning.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

int shmemi_thread_create(pthread_t *thread_p, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    enum { TRIES = 20 };
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread_p, attributes, run, argument);
    for (int i = 1; error == EAGAIN && i < TRIES; i++) {
        usleep(SHMEMI_THREAD_RETRY_US);
        error = pthread_create(thread_p, attributes, run, argument);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

int shmemi_thread_start(pthread_t *thread_p, const char *what, void *(*run)(void *), void *argument)
{
    int rc = shmemi_thread_create(thread_p, NULL, run, argument);
    if (rc)
        shmemi_error("cannot start %s: %s%s", what, strerror(-rc), shmemi_remedy(-rc));
    return rc;
}

struct thread_trial {
    pthread_mutex_t lock; /* held until all have been started */
    pthread_t thread[4];
    pid_t number[4];
    _Atomic unsigned n;
};

static void *pass(void *argument)
{
    struct thread_trial *trial = argument;
    trial->number[trial->n++] = gettid();
    pthread_mutex_lock(&trial->lock);
    pthread_mutex_unlock(&trial->lock);
    return NULL;
}

/* Wait until the threads no longer count, for those who cannot try again. */
static void await_end(const struct thread_trial *trial, unsigned n)
{
    enum { TRIES = 1000 };
    for (unsigned i = 0; i < n; i++)
        pthread_join(trial->thread[i], NULL);
    for (unsigned i = 0; i < n; i++)
        for (int tries = 0; !tgkill(getpid(), trial->number[i], 0) && tries < TRIES; tries++)
            shmemi_nap_briefly();
}

int shmemi_threads_check(unsigned n)
{
    struct thread_trial trial = {.lock = PTHREAD_MUTEX_INITIALIZER};
    unsigned started = 0;
    int rc = 0;
    pthread_mutex_lock(&trial.lock);
    while (!rc && started < n) {
        rc = shmemi_thread_start(&trial.thread[started], "a thread", pass, &trial);
        started += !rc;
    }
    pthread_mutex_unlock(&trial.lock);
    await_end(&trial, started);
    return rc;
}
