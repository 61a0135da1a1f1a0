/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Threads of the program, by the names of POSIX and of C11, and what they order themselves by: create and join, mutexes,
 * condition variables, read-write locks, barriers, semaphores and what is done once.
 */
#include "race/clocks.h"
#include "race/hooks/sync_objects.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#define WRAPPER __attribute__((visibility("default")))

/* What a thread begins with, and what it has left. */
struct start {
    void *(*function)(void *);
    thrd_start_t c11_function; /* or NULL */
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

/* What a thread left at its end, for whom joins it; NULL: nothing. */
static struct ended *take_end(pthread_t thread)
{
    race_lock_take(&ended_lock);
    struct ended **link = &ended;
    while (*link && !pthread_equal((*link)->thread, thread))
        link = &(*link)->next;
    struct ended *end = *link;
    if (end)
        *link = end->next;
    race_lock_give(&ended_lock);
    return end;
}

static void free_end(struct ended *end)
{
    if (end)
        free(end->clock);
    free(end);
}

static void leave_clock(void *born)
{
    struct race_clock *clock = race_here ? race_publish(race_this_thread()) : NULL;
    struct ended *end = clock ? malloc(sizeof *end) : NULL;
    race_thread_ends();
    free(born);
    if (!end) {
        free(clock);
        return;
    }
    *end = (struct ended){pthread_self(), clock, NULL};
    race_lock_take(&ended_lock);
    end->next = ended;
    ended = end;
    race_lock_give(&ended_lock);
}

/* What is left by the name of this thread is that of one before it, which nobody joins any more. */
static void *run_thread(void *argument)
{
    struct start start = *(struct start *)argument;
    void *result;
    free(argument);
    free_end(take_end(pthread_self()));
    race_thread_begins(start.born);
    if (start.is_program)
        (void)race_this_thread();
    pthread_cleanup_push(leave_clock, start.born);
    result = start.c11_function ? (void *)(intptr_t)start.c11_function(start.argument) : start.function(start.argument);
    pthread_cleanup_pop(1);
    return result;
}

static int run_c11_thread(void *argument)
{
    return (int)(intptr_t)run_thread(argument);
}

/* Whether a thread runs the program's code: its function is the program's, or that of a library whose threads do. */
static bool runs_program(uintptr_t function)
{
    static const char *const names[] = {"libgomp", "libomp", "libstdc++", "libc++"};
    Dl_info info;
    if (function - race.program_base < race.program_size)
        return true;
    if (!dladdr((void *)function, &info) || !info.dli_fname)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strstr(info.dli_fname, names[i]))
            return true;
    return false;
}

/* What a thread is started with; NULL: this thread is not looked at, nor is the new one. */
static struct start *make_start(const struct start *wanted)
{
    struct race_thread *parent = race_this_thread();
    struct start *start = parent ? malloc(sizeof *start) : NULL;
    if (start) {
        *start = *wanted;
        start->born = race_publish(parent);
    }
    return start;
}

static int started(struct start *start, int rc)
{
    if (rc) {
        free(start->born);
        free(start);
    }
    return rc;
}

WRAPPER int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                           void *argument)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    next = next ? next : race_next("pthread_create");
    const struct start wanted = {
        .function = function, .argument = argument, .is_program = runs_program((uintptr_t)function)};
    struct start *start = make_start(&wanted);
    if (!start)
        return next(thread, attributes, function, argument);
    return started(start, next(thread, attributes, run_thread, start));
}

WRAPPER int thrd_create(thrd_t *thread, thrd_start_t function, void *argument)
{
    static int (*next)(thrd_t *, thrd_start_t, void *);
    next = next ? next : race_next("thrd_create");
    const struct start wanted = {
        .c11_function = function, .argument = argument, .is_program = runs_program((uintptr_t)function)};
    struct start *start = make_start(&wanted);
    if (!start)
        return next(thread, function, argument);
    return started(start, next(thread, run_c11_thread, start));
}

static void learn_end(pthread_t thread)
{
    struct ended *end = take_end(thread);
    if (end)
        race_learn(race_this_thread(), end->clock);
    free_end(end);
}

#define JOINS(NAME, PARAMETERS, ...)                                                                                   \
    WRAPPER int NAME PARAMETERS                                                                                        \
    {                                                                                                                  \
        static int(*next) PARAMETERS;                                                                                  \
        next = next ? next : race_next(#NAME);                                                                         \
        const int rc = next(__VA_ARGS__);                                                                              \
        if (!rc)                                                                                                       \
            learn_end(thread);                                                                                         \
        return rc;                                                                                                     \
    }
JOINS(pthread_join, (pthread_t thread, void **result), thread, result)
JOINS(pthread_tryjoin_np, (pthread_t thread, void **result), thread, result)
JOINS(pthread_timedjoin_np, (pthread_t thread, void **result, const struct timespec *until), thread, result, until)
JOINS(thrd_join, (thrd_t thread, int *result), thread, result)

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
TAKES(mtx_lock, mtx_t)
TAKES(mtx_trylock, mtx_t)
GIVES(mtx_unlock, mtx_t)

#define TAKES_UNTIL(NAME, TYPE)                                                                                        \
    WRAPPER int NAME(TYPE *object, const struct timespec *until)                                                       \
    {                                                                                                                  \
        static int (*next)(TYPE *, const struct timespec *);                                                           \
        next = next ? next : race_next(#NAME);                                                                         \
        return taken(object, next(object, until));                                                                     \
    }
#define TAKES_BY_CLOCK(NAME, TYPE)                                                                                     \
    WRAPPER int NAME(TYPE *object, clockid_t clock, const struct timespec *until);                                     \
    WRAPPER int NAME(TYPE *object, clockid_t clock, const struct timespec *until)                                      \
    {                                                                                                                  \
        static int (*next)(TYPE *, clockid_t, const struct timespec *);                                                \
        next = next ? next : race_next(#NAME);                                                                         \
        return taken(object, next(object, clock, until));                                                              \
    }
TAKES_UNTIL(pthread_mutex_timedlock, pthread_mutex_t)
TAKES_UNTIL(pthread_rwlock_timedrdlock, pthread_rwlock_t)
TAKES_UNTIL(pthread_rwlock_timedwrlock, pthread_rwlock_t)
TAKES_UNTIL(sem_timedwait, sem_t)
TAKES_UNTIL(mtx_timedlock, mtx_t)
TAKES_BY_CLOCK(pthread_mutex_clocklock, pthread_mutex_t)
TAKES_BY_CLOCK(pthread_rwlock_clockrdlock, pthread_rwlock_t)
TAKES_BY_CLOCK(pthread_rwlock_clockwrlock, pthread_rwlock_t)
TAKES_BY_CLOCK(sem_clockwait, sem_t)

WRAPPER int pthread_spin_lock(pthread_spinlock_t *object)
{
    static int (*next)(pthread_spinlock_t *);
    next = next ? next : race_next("pthread_spin_lock");
    return taken((const void *)object, next(object));
}

WRAPPER int pthread_spin_trylock(pthread_spinlock_t *object)
{
    static int (*next)(pthread_spinlock_t *);
    next = next ? next : race_next("pthread_spin_trylock");
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

#define WAITS(NAME, PARAMETERS, ...)                                                                                   \
    WRAPPER int NAME PARAMETERS;                                                                                       \
    WRAPPER int NAME PARAMETERS                                                                                        \
    {                                                                                                                  \
        static int(*next) PARAMETERS;                                                                                  \
        next = next ? next : next_of_condition(#NAME);                                                                 \
        given(mutex);                                                                                                  \
        const int rc = next(__VA_ARGS__);                                                                              \
        (void)taken(mutex, 0);                                                                                         \
        return rc;                                                                                                     \
    }
WAITS(pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t *mutex), condition, mutex)
WAITS(pthread_cond_timedwait, (pthread_cond_t * condition, pthread_mutex_t *mutex, const struct timespec *until),
      condition, mutex, until)
WAITS(pthread_cond_clockwait,
      (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until), condition,
      mutex, clock, until)
WAITS(cnd_wait, (cnd_t * condition, mtx_t *mutex), condition, mutex)
WAITS(cnd_timedwait, (cnd_t * condition, mtx_t *mutex, const struct timespec *until), condition, mutex, until)

/* ---- what is done once: whoever comes later knows what was known after it ------------------------------------------- */

static _Thread_local struct once {
    void (*function)(void);
    const void *object;
} once;

static void run_once(void)
{
    const struct once this = once;
    this.function();
    given(this.object);
}

WRAPPER int pthread_once(pthread_once_t *object, void (*function)(void))
{
    static int (*next)(pthread_once_t *, void (*)(void));
    const struct once outer = once;
    next = next ? next : race_next("pthread_once");
    once = (struct once){function, object};
    const int rc = next(object, run_once);
    once = outer;
    return taken(object, rc);
}

WRAPPER void call_once(once_flag *object, void (*function)(void))
{
    (void)pthread_once((pthread_once_t *)object, function);
}

/* Static variables of C++ functions. */
int __cxa_guard_acquire(void *guard);
void __cxa_guard_release(void *guard);

WRAPPER int __cxa_guard_acquire(void *guard)
{
    static int (*next)(void *);
    next = next ? next : race_next("__cxa_guard_acquire");
    const int is_first = next(guard);
    (void)taken(guard, is_first);
    return is_first;
}

WRAPPER void __cxa_guard_release(void *guard)
{
    static void (*next)(void *);
    next = next ? next : race_next("__cxa_guard_release");
    given(guard);
    next(guard);
}
