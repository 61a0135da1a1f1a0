/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads of the program and what they order themselves by: pthread_create and join, mutexes, condition variables,
 * read-write locks, barriers and semaphores. And free, since memory that is given back may serve another thread.
 */
#include "race/private.h"
#include "race/hooks/sync_objects.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#define WRAPPER __attribute__((visibility("default")))

/* What a thread begins with, and what it has left. */
struct start {
    void *(*function)(void *);
    void *argument;
    struct race_clock *born;
    bool is_program; /* not a thread by which a library works for itself: that is entered when it touches something */
};

static struct ended {
    pthread_t thread;
    struct race_clock *clock;
    struct ended *next;
} * ended;
static race_lock ended_lock;

static void leave_clock(void *unused)
{
    (void)unused;
    struct race_clock *clock = race_here ? race_publish(race_this_thread()) : NULL;
    struct ended *end = clock ? malloc(sizeof *end) : NULL;
    if (!end)
        return;
    *end = (struct ended){pthread_self(), clock, NULL};
    race_lock_take(&ended_lock);
    end->next = ended;
    ended = end;
    race_lock_give(&ended_lock);
}

static void *run_thread(void *argument)
{
    struct start start = *(struct start *)argument;
    void *result;
    free(argument);
    race_thread_begins(start.born);
    if (start.is_program)
        (void)race_this_thread();
    pthread_cleanup_push(leave_clock, NULL);
    result = start.function(start.argument);
    pthread_cleanup_pop(1);
    return result;
}

/* Whether a thread runs the program's code: its function is the program's, or that of a library whose threads do. */
static bool runs_program(void *(*function)(void *))
{
    static const char *const names[] = {"libgomp", "libomp", "libstdc++", "libc++"};
    Dl_info info;
    if ((uintptr_t)function - race.program_base < race.program_size)
        return true;
    if (!dladdr((void *)function, &info) || !info.dli_fname)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strstr(info.dli_fname, names[i]))
            return true;
    return false;
}

WRAPPER int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                           void *argument)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    next = next ? next : race_next("pthread_create");
    struct race_thread *parent = race_this_thread();
    struct start *start = parent ? malloc(sizeof *start) : NULL;
    if (!start)
        return next(thread, attributes, function, argument);
    *start = (struct start){function, argument, race_publish(parent), runs_program(function)};
    int rc = next(thread, attributes, run_thread, start);
    if (rc)
        free(start);
    return rc;
}

static void learn_end(pthread_t thread)
{
    race_lock_take(&ended_lock);
    struct ended **link = &ended;
    while (*link && !pthread_equal((*link)->thread, thread))
        link = &(*link)->next;
    struct ended *end = *link;
    if (end)
        *link = end->next;
    race_lock_give(&ended_lock);
    if (end) {
        race_learn(race_this_thread(), end->clock);
        free(end->clock);
        free(end);
    }
}

WRAPPER int pthread_join(pthread_t thread, void **result)
{
    static int (*next)(pthread_t, void **);
    next = next ? next : race_next("pthread_join");
    int rc = next(thread, result);
    if (!rc)
        learn_end(thread);
    return rc;
}

/* A lock that was taken (rc 0), and one that will be given back. Threads that no access was seen of are left alone. */
static int taken(const void *object, int rc)
{
    if (!rc && race_here)
        race_sync_acquire((uintptr_t)object);
    return rc;
}

static void given(const void *object)
{
    if (race_here)
        race_sync_release((uintptr_t)object);
}

#define TAKES(NAME, TYPE)                                                                                              \
    WRAPPER int NAME(TYPE *object)                                                                                     \
    {                                                                                                                  \
        static int (*next)(TYPE *);                                                                                    \
        next = next ? next : race_next(#NAME);                                                                         \
        return taken(object, next(object));                                                                            \
    }
#define GIVES(NAME, TYPE)                                                                                              \
    WRAPPER int NAME(TYPE *object)                                                                                     \
    {                                                                                                                  \
        static int (*next)(TYPE *);                                                                                    \
        next = next ? next : race_next(#NAME);                                                                         \
        given(object);                                                                                                 \
        return next(object);                                                                                           \
    }

TAKES(pthread_mutex_lock, pthread_mutex_t)
TAKES(pthread_mutex_trylock, pthread_mutex_t)
GIVES(pthread_mutex_unlock, pthread_mutex_t)
TAKES(pthread_rwlock_rdlock, pthread_rwlock_t)
TAKES(pthread_rwlock_tryrdlock, pthread_rwlock_t)
TAKES(pthread_rwlock_wrlock, pthread_rwlock_t)
TAKES(pthread_rwlock_trywrlock, pthread_rwlock_t)
GIVES(pthread_rwlock_unlock, pthread_rwlock_t)
TAKES(sem_wait, sem_t)
TAKES(sem_trywait, sem_t)
GIVES(sem_post, sem_t)

WRAPPER int pthread_spin_lock(pthread_spinlock_t *object)
{
    static int (*next)(pthread_spinlock_t *);
    next = next ? next : race_next("pthread_spin_lock");
    return taken((const void *)object, next(object));
}

WRAPPER int pthread_spin_unlock(pthread_spinlock_t *object)
{
    static int (*next)(pthread_spinlock_t *);
    next = next ? next : race_next("pthread_spin_unlock");
    given((const void *)object);
    return next(object);
}

WRAPPER int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    static int (*next)(pthread_barrier_t *);
    next = next ? next : race_next("pthread_barrier_wait");
    given(barrier);
    int rc = next(barrier);
    (void)taken(barrier, rc == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : rc);
    return rc;
}

/* A wait gives its mutex back meanwhile. The oldest version of these symbols is for another type, so the newer one. */
static void *next_of_condition(const char *name)
{
    void *next = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
    return next ? next : race_next(name);
}

WRAPPER int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    static int (*next)(pthread_cond_t *, pthread_mutex_t *);
    next = next ? next : next_of_condition("pthread_cond_wait");
    given(mutex);
    int rc = next(condition, mutex);
    (void)taken(mutex, 0);
    return rc;
}

WRAPPER int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
    static int (*next)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    next = next ? next : next_of_condition("pthread_cond_timedwait");
    given(mutex);
    int rc = next(condition, mutex, until);
    (void)taken(mutex, 0);
    return rc;
}

extern void __libc_free(void *block);

WRAPPER void free(void *block)
{
    if (block && race.watches_private)
        race_private_clear((uintptr_t)block, malloc_usable_size(block));
    __libc_free(block);
}
