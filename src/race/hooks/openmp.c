/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Order between threads of OpenMP, as gcc's libgomp is called: parallel regions, barriers, single, sections, ordered,
 * critical, tasks, locks.
 */
#include "race/hooks/sync_objects.h"

#include <stdlib.h>
#include <string.h>

#define WRAPPER __attribute__((visibility("default")))

/* A parallel region: its address is the object by which its threads begin and end; barriers have the other ones. */
struct openmp_team {
    void (*function)(void *);
    void *data;
    struct race_clock *born;
    struct openmp_team *next; /* of those that are idle */
    char end, tasks, barrier[2], ordered;
};

/* Where a thread is: its team, the barriers that it has passed there, and the section that it carries out. Sections that
 * one thread carries out are not ordered: each is a strand that begins with what the thread knew before the first. */
static _Thread_local struct where {
    struct openmp_team *team;
    unsigned n_barriers;
    struct race_clock *before_sections;
    bool in_section;
    struct race_strand saved;
    char sections;
} here;

static void run_team(void *argument)
{
    struct openmp_team *team = argument;
    struct race_thread *thread = race_this_thread();
    const struct where outer = here;
    const uintptr_t outer_frame = thread ? thread->frame : 0;
    here = (struct where){.team = team};
    race_learn(thread, team->born);
    if (thread)
        thread->frame = (uintptr_t)__builtin_frame_address(0);
    team->function(team->data);
    race_sync_release((uintptr_t)&team->end);
    if (thread)
        thread->frame = outer_frame;
    here = outer;
}

/* A team that this thread had before, or a new one. Their addresses stand for their order: what those of an idle team know
 * its thread has learned when it ended. */
static struct openmp_team *begin_team(void (*function)(void *), void *data)
{
    struct race_thread *thread = race_this_thread();
    if (!thread)
        return NULL;
    struct openmp_team *team = thread->idle_teams ? thread->idle_teams : calloc(1, sizeof *team);
    if (!team)
        return NULL;
    thread->idle_teams = team->next;
    *team = (struct openmp_team){.function = function, .data = data, .born = race_publish(thread)};
    return team;
}

static void end_team(struct openmp_team *team)
{
    struct race_thread *thread = race_this_thread();
    race_sync_acquire((uintptr_t)&team->end);
    race_sync_acquire((uintptr_t)&team->tasks);
    free(team->born);
    if (thread) {
        team->next = thread->idle_teams;
        thread->idle_teams = team;
    }
}

WRAPPER void GOMP_parallel(void (*function)(void *), void *data, unsigned n_threads, unsigned flags);
WRAPPER void GOMP_parallel(void (*function)(void *), void *data, unsigned n_threads, unsigned flags)
{
    static void (*next)(void (*)(void *), void *, unsigned, unsigned);
    next = next ? next : race_next("GOMP_parallel");
    struct openmp_team *team = begin_team(function, data);
    if (!team) {
        next(function, data, n_threads, flags);
        return;
    }
    next(run_team, team, n_threads, flags);
    end_team(team);
}

/* Parallel regions that are a loop or sections as well. */
#define PARALLEL_LOOP(NAME)                                                                                            \
    WRAPPER void NAME(void (*function)(void *), void *data, unsigned n_threads, long start, long end, long increment,  \
                      long chunk, unsigned flags);                                                                     \
    WRAPPER void NAME(void (*function)(void *), void *data, unsigned n_threads, long start, long end, long increment,  \
                      long chunk, unsigned flags)                                                                      \
    {                                                                                                                  \
        static void (*next)(void (*)(void *), void *, unsigned, long, long, long, long, unsigned);                     \
        next = next ? next : race_next(#NAME);                                                                         \
        struct openmp_team *team = begin_team(function, data);                                                         \
        next(team ? run_team : function, team ? team : data, n_threads, start, end, increment, chunk, flags);          \
        if (team)                                                                                                      \
            end_team(team);                                                                                            \
    }
PARALLEL_LOOP(GOMP_parallel_loop_static)
PARALLEL_LOOP(GOMP_parallel_loop_dynamic)
PARALLEL_LOOP(GOMP_parallel_loop_guided)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_guided)

#define PARALLEL_RUNTIME_LOOP(NAME)                                                                                    \
    WRAPPER void NAME(void (*function)(void *), void *data, unsigned n_threads, long start, long end, long increment,  \
                      unsigned flags);                                                                                 \
    WRAPPER void NAME(void (*function)(void *), void *data, unsigned n_threads, long start, long end, long increment,  \
                      unsigned flags)                                                                                  \
    {                                                                                                                  \
        static void (*next)(void (*)(void *), void *, unsigned, long, long, long, unsigned);                           \
        next = next ? next : race_next(#NAME);                                                                         \
        struct openmp_team *team = begin_team(function, data);                                                         \
        next(team ? run_team : function, team ? team : data, n_threads, start, end, increment, flags);                 \
        if (team)                                                                                                      \
            end_team(team);                                                                                            \
    }
PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_runtime)
PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_nonmonotonic_runtime)
PARALLEL_RUNTIME_LOOP(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

WRAPPER void GOMP_parallel_sections(void (*function)(void *), void *data, unsigned n_threads, unsigned count,
                                    unsigned flags);
WRAPPER void GOMP_parallel_sections(void (*function)(void *), void *data, unsigned n_threads, unsigned count,
                                    unsigned flags)
{
    static void (*next)(void (*)(void *), void *, unsigned, unsigned, unsigned);
    next = next ? next : race_next("GOMP_parallel_sections");
    struct openmp_team *team = begin_team(function, data);
    next(team ? run_team : function, team ? team : data, n_threads, count, flags);
    if (team)
        end_team(team);
}

/* ---- barriers: two objects in turns, since a thread may be in the next one already -------------------------------- */

static uintptr_t begin_barrier(void)
{
    struct openmp_team *team = here.team;
    if (!team)
        return 0;
    const uintptr_t object = (uintptr_t)&team->barrier[here.n_barriers++ % 2];
    race_sync_release(object);
    return object;
}

static void end_barrier(uintptr_t object)
{
    if (!object)
        return;
    race_sync_acquire(object);
    race_sync_acquire((uintptr_t)&here.team->tasks);
}

#define BARRIER(NAME)                                                                                                  \
    WRAPPER void NAME(void);                                                                                           \
    WRAPPER void NAME(void)                                                                                            \
    {                                                                                                                  \
        static void (*next)(void);                                                                                     \
        next = next ? next : race_next(#NAME);                                                                         \
        const uintptr_t object = begin_barrier();                                                                      \
        next();                                                                                                        \
        end_barrier(object);                                                                                           \
    }
BARRIER(GOMP_barrier)
BARRIER(GOMP_loop_end)
BARRIER(GOMP_sections_end)

/* ---- sections ------------------------------------------------------------------------------------------------------ */

static void leave_section(void)
{
    struct race_thread *thread = here.in_section ? race_this_thread() : NULL;
    if (thread) {
        race_sync_release((uintptr_t)&here.sections);
        race_strand_end(thread, &here.saved);
    }
    here.in_section = false;
}

/* number: the section that follows; 0: there is none. */
static unsigned enter_section(unsigned number)
{
    struct race_thread *thread = race_this_thread();
    if (thread && number && !here.before_sections)
        here.before_sections = race_publish(thread);
    if (thread && number) {
        race_strand_begin(thread, here.before_sections, &here.saved);
        here.in_section = true;
    } else if (here.before_sections) {
        race_sync_acquire((uintptr_t)&here.sections);
        free(here.before_sections);
        here.before_sections = NULL;
    }
    return number;
}

WRAPPER unsigned GOMP_sections_start(unsigned count);
WRAPPER unsigned GOMP_sections_start(unsigned count)
{
    static unsigned (*next)(unsigned);
    next = next ? next : race_next("GOMP_sections_start");
    return enter_section(next(count));
}

WRAPPER unsigned GOMP_sections_next(void);
WRAPPER unsigned GOMP_sections_next(void)
{
    static unsigned (*next)(void);
    next = next ? next : race_next("GOMP_sections_next");
    leave_section();
    return enter_section(next());
}

/* ---- locks, ordered, the end of tasks ------------------------------------------------------------------------------ */

/* Those that begin something which others have ended, and end it for others. */
#define ENTERS(NAME, OBJECT)                                                                                           \
    WRAPPER void NAME(void);                                                                                           \
    WRAPPER void NAME(void)                                                                                            \
    {                                                                                                                  \
        static void (*next)(void);                                                                                     \
        next = next ? next : race_next(#NAME);                                                                         \
        next();                                                                                                        \
        race_sync_acquire((uintptr_t)(OBJECT));                                                                        \
    }
#define EXITS(NAME, OBJECT)                                                                                            \
    WRAPPER void NAME(void);                                                                                           \
    WRAPPER void NAME(void)                                                                                            \
    {                                                                                                                  \
        static void (*next)(void);                                                                                     \
        next = next ? next : race_next(#NAME);                                                                         \
        race_sync_release((uintptr_t)(OBJECT));                                                                        \
        next();                                                                                                        \
    }

static const char critical, atomic;

ENTERS(GOMP_critical_start, &critical)
EXITS(GOMP_critical_end, &critical)
ENTERS(GOMP_atomic_start, &atomic)
EXITS(GOMP_atomic_end, &atomic)
ENTERS(GOMP_ordered_start, here.team ? &here.team->ordered : &critical)
EXITS(GOMP_ordered_end, here.team ? &here.team->ordered : &critical)
ENTERS(GOMP_taskwait, here.team ? &here.team->tasks : &critical)
ENTERS(GOMP_taskgroup_end, here.team ? &here.team->tasks : &critical)

#define LOCK_OF(NAME, TAKE, AFTER, BEFORE)                                                                             \
    WRAPPER void NAME(void *object);                                                                                   \
    WRAPPER void NAME(void *object)                                                                                    \
    {                                                                                                                  \
        static void (*next)(void *);                                                                                   \
        next = next ? next : race_next(#NAME);                                                                         \
        BEFORE((uintptr_t)object);                                                                                     \
        next(object);                                                                                                  \
        AFTER((uintptr_t)object);                                                                                      \
    }
static void nothing(uintptr_t object)
{
    (void)object;
}
#define TESTS_LOCK(NAME)                                                                                               \
    WRAPPER int NAME(void *object);                                                                                    \
    WRAPPER int NAME(void *object)                                                                                     \
    {                                                                                                                  \
        static int (*next)(void *);                                                                                    \
        next = next ? next : race_next(#NAME);                                                                         \
        const int held = next(object);                                                                                 \
        if (held)                                                                                                      \
            race_sync_acquire((uintptr_t)object);                                                                      \
        return held;                                                                                                   \
    }
TESTS_LOCK(omp_test_lock)
TESTS_LOCK(omp_test_nest_lock)
LOCK_OF(omp_set_lock, 1, race_sync_acquire, nothing)
LOCK_OF(omp_unset_lock, 0, nothing, race_sync_release)
LOCK_OF(omp_set_nest_lock, 1, race_sync_acquire, nothing)
LOCK_OF(omp_unset_nest_lock, 0, nothing, race_sync_release)
LOCK_OF(GOMP_critical_name_start, 1, race_sync_acquire, nothing)
LOCK_OF(GOMP_critical_name_end, 0, nothing, race_sync_release)

/* ---- tasks: what the program passes on comes after a head of ours ------------------------------------------------- */

enum { DEPENDS_MOST = 8, HAS_DEPENDS = 8 /* of the flags */ };

struct openmp_task {
    void (*function)(void *);
    void (*copy)(void *, void *);
    struct race_clock *born;
    struct openmp_team *team;
    size_t offset; /* of the program's data */
    void *source;
    unsigned n_depends;
    uintptr_t depends[DEPENDS_MOST];
};

/* The objects of a task's depend clauses, as libgomp has them: their number, how many are written, addresses; or, after a
 * zero, the number, three numbers of kinds, addresses. They order tasks, here also those that only read one. */
static void note_depends(struct openmp_task *task, void *const *depends)
{
    const size_t n = (size_t)(depends[0] ? depends[0] : depends[1]), first = depends[0] ? 2 : 5;
    for (size_t i = 0; i < n && i < DEPENDS_MOST; i++)
        task->depends[task->n_depends++] = (uintptr_t)depends[first + i];
}

static void each_depend(const struct openmp_task *task, void (*order)(uintptr_t object))
{
    for (unsigned i = 0; i < task->n_depends; i++)
        order(task->depends[i]);
}

/* A task is not ordered with what its thread has done before: it is a strand. */
static void run_task(void *argument)
{
    struct openmp_task *task = argument;
    struct race_thread *thread = race_this_thread();
    struct race_strand saved;
    if (!thread) {
        task->function((char *)argument + task->offset);
        return;
    }
    race_strand_begin(thread, task->born, &saved);
    each_depend(task, race_sync_acquire);
    task->function((char *)argument + task->offset);
    each_depend(task, race_sync_release);
    race_sync_release(task->team ? (uintptr_t)&task->team->tasks : (uintptr_t)&critical);
    race_strand_end(thread, &saved);
}

static void copy_task(void *to, void *from)
{
    struct openmp_task *task = to;
    memcpy(to, from, sizeof *task);
    task->copy((char *)to + task->offset, task->source);
}

typedef void (*task_call)(void (*)(void *), void *, void (*)(void *, void *), long, long, bool, unsigned, void **, int,
                          void *);

WRAPPER void GOMP_task(void (*function)(void *), void *data, void (*copy)(void *, void *), long size, long alignment,
                       bool runs_later, unsigned flags, void **depends, int priority, void *detach);
WRAPPER void GOMP_task(void (*function)(void *), void *data, void (*copy)(void *, void *), long size, long alignment,
                       bool runs_later, unsigned flags, void **depends, int priority, void *detach)
{
    static task_call next;
    next = next ? next : (task_call)race_next("GOMP_task");
    struct race_thread *thread = race_this_thread();
    const size_t offset = (sizeof(struct openmp_task) + (size_t)alignment - 1) / (size_t)alignment * (size_t)alignment;
    char *block = thread && alignment > 0 && alignment <= 64 ? malloc(offset + (size_t)size) : NULL;
    if (!block) {
        next(function, data, copy, size, alignment, runs_later, flags, depends, priority, detach);
        return;
    }
    struct openmp_task *task = (struct openmp_task *)block;
    *task = (struct openmp_task){.function = function,
                                 .copy = copy,
                                 .born = race_publish(thread),
                                 .team = here.team,
                                 .offset = offset,
                                 .source = data};
    if (flags & HAS_DEPENDS)
        note_depends(task, depends);
    if (!copy && size)
        memcpy(block + offset, data, (size_t)size);
    if (alignment < (long)_Alignof(struct openmp_task))
        alignment = _Alignof(struct openmp_task);
    next(run_task, block, copy ? copy_task : NULL, (long)offset + size, alignment, runs_later, flags, depends, priority,
         detach);
    free(block);
}
