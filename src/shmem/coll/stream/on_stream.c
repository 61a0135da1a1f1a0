/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives in streams. Where the GPUs of all members reach each other, they carry them out alone (by_gpu.c). Otherwise
 * a stream takes its turn (transport/stream/agent.h); the agent then leaves the collective to a
 * thread of the team, which calls the same functions as the blocking routines do, on a duplicate of the team. The
 * duplicate has the team's members, and a workspace and numbers of its own, so that the program may run blocking
 * collectives of the team meanwhile. It costs no communication to make: its workspace goes with the team's slot, and its first number is
 * the one that the members have agreed upon when they made the team.
 *
 * Why nothing locks up that the program has not locked up itself:
 * - A team's thread begins its collectives in the order in which the program has enqueued them, which is the same on all
 *   members. It waits only for a stream to reach the first of them, and for the other members' threads to do the same.
 * - So if all threads of a team are stuck, some member's stream has not come to the collective that is next. What this
 *   stream waits for is either the program's own work or an operation of the library before it in the stream; if it is a
 *   collective of another team, the same is true of that one, and it is further ahead in a stream. A circle needs two
 *   collectives of which each comes before the other in a stream or in the order of a team: the program's error, as it
 *   would be with blocking collectives.
 * - Teams have threads of their own, and the agent waits for none of them: it goes on with other streams' operations,
 *   which a member may need before it comes to the collective. Threads hold no lock while they run a collective.
 */
#include "shmem/coll/stream/on_stream.h"

#include "base/limits.h"
#include "base/thread/thread_start.h"
#include "base/wake/sleep.h"
#include "transport/stream/agent.h"
#include "transport/threads.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum state { ENQUEUED, REACHED, DONE };

struct job {
    const char *routine;
    struct shmemi_collective_args what;
    struct shmemi_team_stream *of;
    _Atomic enum state state;
    struct job *next;
};

struct shmemi_team_stream {
    struct shmemi_team duplicate;
    pthread_mutex_t lock; /* of the list */
    pthread_cond_t changed;
    pthread_t thread;
    struct job *first, *last; /* not yet done */
    bool stops;
    struct shmemi_team_meetings meetings;
    _Atomic unsigned n_left; /* jobs that the agent has not yet seen to be done */
};

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

/* ---- The thread -------------------------------------------------------------------------------------------------- */

static bool has_to_wake(const void *argument)
{
    const struct shmemi_team_stream *of = argument;
    return of->stops || (of->first && atomic_load(&of->first->state) == REACHED);
}

/* The next job, which its stream has reached, or NULL at the end. With the lock held. */
static struct job *await_job(struct shmemi_team_stream *of)
{
    shmemi_sleep_until(&of->changed, &of->lock, has_to_wake, of);
    return of->stops ? NULL : of->first;
}

static void *serve(void *argument)
{
    struct shmemi_team_stream *of = argument;
    struct job *job;
    shmemi_threads_enter("stream collectives", "shmem-coll");
    pthread_mutex_lock(&of->lock);
    while ((job = await_job(of))) {
        pthread_mutex_unlock(&of->lock);
        shmemi_call_collective(job->routine, &of->duplicate, &job->what);
        pthread_mutex_lock(&of->lock);
        of->first = job->next;
        atomic_store(&job->state, DONE);
    }
    pthread_mutex_unlock(&of->lock);
    return NULL;
}

/* ---- The duplicate ----------------------------------------------------------------------------------------------- */

/* The core belongs to a thread of the program, so the duplicate's thread does not spin there for long. */
static int open_duplicate(struct shmemi_team_stream *of, const struct shmemi_team *team)
{
    of->duplicate = *team;
    of->duplicate.slot += SHMEMI_TEAMS_MAX;
    of->duplicate.contexts = NULL;
    of->duplicate.next = NULL;
    of->duplicate.collective = NULL;
    int rc = shmemi_collective_open(&of->duplicate, team->first_number);
    if (!rc)
        of->duplicate.collective->spins = false;
    return rc;
}

static struct shmemi_team_stream *make(const struct shmemi_team *team)
{
    struct shmemi_team_stream *of = calloc(1, sizeof *of);
    if (!of) {
        shmemi_error("out of memory for the collectives of a team in streams");
        return NULL;
    }
    pthread_mutex_init(&of->lock, NULL);
    pthread_cond_init(&of->changed, NULL);
    if (!open_duplicate(of, team) &&
        !shmemi_thread_start(&of->thread, "the thread for collectives in streams", serve, of)) {
        shmemi_team_meetings_open(team, &of->meetings);
        return of;
    }
    if (of->duplicate.collective)
        shmemi_collective_close(&of->duplicate);
    free(of);
    return NULL;
}

static struct shmemi_team_stream *stream_of(struct shmemi_team *team)
{
    pthread_mutex_lock(&making);
    struct shmemi_team_stream *of = atomic_load(&team->stream);
    if (!of)
        atomic_store(&team->stream, of = make(team));
    pthread_mutex_unlock(&making);
    return of;
}

void shmemi_team_stream_drain(struct shmemi_team *team)
{
    struct shmemi_team_stream *of = atomic_load(&team->stream);
    struct shmemi_call call = {.routine = "collectives of a team in streams", .activity = SHMEMI_AT_DETAIL};
    unsigned spins = 0;
    if (!of)
        return;
    shmemi_call_begin(&call);
    while (atomic_load(&of->n_left) || !shmemi_team_meetings_are_done(team, &of->meetings))
        shmemi_progress(&spins);
    shmemi_call_end(&call);
}

uint64_t shmemi_team_stream_close(struct shmemi_team *team)
{
    struct shmemi_team_stream *of = atomic_exchange(&team->stream, NULL);
    if (!of)
        return 0;
    pthread_mutex_lock(&of->lock);
    of->stops = true;
    pthread_cond_signal(&of->changed);
    pthread_mutex_unlock(&of->lock);
    pthread_join(of->thread, NULL);
    uint64_t number = shmemi_collective_close(&of->duplicate),
             exchanges = shmemi_team_meetings_close(team, &of->meetings);
    pthread_cond_destroy(&of->changed);
    pthread_mutex_destroy(&of->lock);
    free(of);
    return number > exchanges ? number : exchanges;
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

static int leave_to_thread(struct job *job)
{
    int rc = job->what.completes ? shmemi_stream_agent_quiet() : 0;
    if (rc)
        return rc;
    pthread_mutex_lock(&job->of->lock);
    atomic_store(&job->state, REACHED);
    pthread_cond_signal(&job->of->changed);
    pthread_mutex_unlock(&job->of->lock);
    return -EAGAIN;
}

static int advance_collective(struct shmemi_stream_work *work)
{
    struct job *job = work->job;
    enum state state = atomic_load(&job->state);
    if (state == ENQUEUED)
        return leave_to_thread(job);
    if (state == REACHED)
        return -EAGAIN;
    atomic_fetch_sub(&job->of->n_left, 1);
    free(job);
    return 0;
}

static void cancel(struct shmemi_stream_work *work)
{
    const struct job *job = work->job;
    shmemi_fatal("%s: an event has failed that this collective was to wait for, and the other PEs wait for this one",
                 job->routine);
}

/* The order in the list is that of the calls. */
static int enqueue(const struct shmemi_stream *stream, struct job *job)
{
    struct shmemi_team_stream *of = job->of;
    pthread_mutex_lock(&of->lock);
    if (of->first)
        of->last->next = job;
    else
        of->first = job;
    of->last = job;
    atomic_fetch_add(&of->n_left, 1);
    pthread_mutex_unlock(&of->lock);
    return shmemi_stream_agent_post(
        stream, &(struct shmemi_stream_work){.advance = advance_collective, .cancel = cancel, .job = job});
}

int shmemi_collective_on_stream(const struct shmemi_stream_call *call, shmem_team_t handle,
                                const struct shmemi_collective_args *what)
{
    struct shmemi_team *team = shmemi_require_team(call->routine, handle);
    struct shmemi_team_stream *of = stream_of(team);
    if (what->completes)
        shmemi_await_kernels(call);
    int rc = of ? shmemi_collective_by_gpu(call, team, &of->meetings, what) : -ENOTSUP;
    if (rc != -ENOTSUP) {
        shmemi_require(rc);
        return 0;
    }
    shmemi_require(shmemi_stream_refuse_recording(&call->stream));
    shmemi_require(of ? 0 : -ENOMEM);
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        shmemi_fatal("%s: no memory for a collective in a stream", call->routine);
    job->routine = call->routine;
    job->what = *what;
    job->of = of;
    shmemi_require(enqueue(&call->stream, job));
    return 0;
}
