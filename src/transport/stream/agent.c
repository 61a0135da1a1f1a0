/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agent's thread: a list of work items that streams wait for, which are advanced in turn until they are done.
 */
#define _GNU_SOURCE
#include "transport/stream/agent.h"

#include "base/log.h"
#include "base/thread/cores.h"
#include "base/thread/patience.h"
#include "base/thread/thread_start.h"
#include "base/wake/sleep.h"
#include "base/tuning.h"
#include "bootstrap/job.h"
#include "gpu/memory.h"
#include "gpu/thread_cores.h"
#include "transport/progress.h"
#include "transport/threads.h"
#include "transport/drivers/table.h"
#include "transport/stream/outbox.h"
#include "transport/stream/watched.h"
#include "transport/ucx/ucx.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct shmemi_context shmemi_stream_context;

/* Work items that send to a PE: how many were posted, are done, and are known to be complete. */
struct sends {
    _Atomic uint64_t posted, settled;
    uint64_t done; /* used by the agent only */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool runs, stops;
    pthread_mutex_t order;             /* of lines: held from the turn's begin until the work is posted */
    struct shmemi_stream_work *posted; /* newest first; taken by the agent */
    unsigned n_posted;                 /* posted and not yet done */

    _Atomic(struct sends *) sends; /* to each PE; NULL before the thread is made */
} agent = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .order = PTHREAD_MUTEX_INITIALIZER};

static struct sends *sends_of(const struct shmemi_stream_work *work)
{
    const struct shmemi_view *view = work->transfer.view ? work->transfer.view
                                     : work->signal.view ? work->signal.view
                                                         : work->update.word.view;
    return &atomic_load(&agent.sends)[view->pe];
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

/* Advance a work item; true when done. An error that the program's own work has left in the stream does not end the
 * job: the program learns of it from the stream. */
static bool advance(struct shmemi_stream_work *work)
{
    int rc = work->has_come ? 0 : work->kind->turn_state(work->turn);
    if (rc == -EAGAIN)
        return false;
    if (rc == -ECANCELED && work->cancel)
        work->cancel(work);
    if (rc && rc != -ECANCELED)
        shmemi_fatal("a stream with operations of the library has failed");
    if (!rc) {
        if (work->watched && !work->has_come)
            shmemi_watched_has_come(work->watched);
        work->has_come = true;
        rc = work->advance(work);
        if (rc == -EAGAIN)
            return false;
        if (rc)
            shmemi_fatal("an operation in a stream of the program has failed");
    }
    if (work->sends)
        sends_of(work)->done++;
    if (work->watched)
        shmemi_watched_is_over(work->watched);
    work->kind->turn_end(work->turn, rc);
    return true;
}

static void give_back_parts(const struct shmemi_stream_work *work)
{
    if (work->room)
        shmemi_outbox_give(work->room);
    free(work->kept);
}

static void free_work(struct shmemi_stream_work *work)
{
    give_back_parts(work);
    free(work);
}

/* Take the first work item of a line off the list. The next one takes its place. */
static void remove_first(struct shmemi_stream_work **link)
{
    struct shmemi_stream_work *work = *link, *behind = work->behind;
    *link = work->next;
    if (behind) {
        behind->last = work->last;
        behind->next = work->next;
        *link = behind;
    }
    free_work(work);
}

/* Advance the first work item of each line, and take those that are done off the list. Returns how many were done. */
static unsigned advance_all(struct shmemi_stream_work **list)
{
    unsigned n_done = 0;
    struct shmemi_stream_work **link = list;
    while (*link) {
        struct shmemi_stream_work *work = *link;
        if (!advance(work)) {
            link = &work->next;
            continue;
        }
        remove_first(link);
        n_done++;
    }
    return n_done;
}

/* Add a work item to the end of its line, or as a line of its own to the end of the list. A stream that goes on while
 * the agent sends its data may reach the next operation at once: the line keeps their order. */
static void add(struct shmemi_stream_work **list, struct shmemi_stream_work *work)
{
    struct shmemi_stream_work **link = list;
    while (*link && (!work->line || (*link)->line != work->line))
        link = &(*link)->next;
    work->behind = work->next = NULL;
    work->last = work;
    if (*link) {
        (*link)->last->behind = work;
        (*link)->last = work;
    } else {
        *link = work;
    }
}

/* Move posted work items to the agent's list, oldest first. With the lock held. */
static void take_posted(struct shmemi_stream_work **list)
{
    struct shmemi_stream_work *oldest = NULL;
    while (agent.posted) {
        struct shmemi_stream_work *work = agent.posted;
        agent.posted = work->next;
        work->next = oldest;
        oldest = work;
    }
    while (oldest) {
        struct shmemi_stream_work *work = oldest;
        oldest = work->next;
        add(list, work);
    }
}

static bool has_to_share(void)
{
    return shmemi_cores_are_shared() || shmemi_threads_are_guests();
}

/* Is something under way to other nodes? The service thread brings it on, too, but looks less often, since it may have to
 * sleep; and the program's threads may be waiting for their streams. */
static bool has_sent(unsigned turns)
{
    return turns < SHMEMI_STREAMS_SENT_TURNS && shmemi_job.n_nodes > 1 && !has_to_share() &&
           shmemi_ucx_request_pending();
}

/* Pause while no work item can be advanced. */
static void rest(unsigned *turns)
{
    if (shmemi_work(SHMEMI_TURN_OF_AGENT))
        *turns = 0;
    else
        shmemi_rest(has_to_share() ? SHMEMI_STREAMS_IDLE_ON_SHARED_CORES : SHMEMI_STREAMS_IDLE, ++*turns);
}

/* What other PEs ask for may need copies and kernels. On a GPU that several PEs share, these have come behind streams that
 * waited for this very thread, and so never ran: there it leaves them to the service thread. */
static void leave_requests(void)
{
    shmemi_progress_leave_requests(shmemi_memory_sharers[SHMEMI_MEMTYPE_CUDA] > 1);
}

static bool has_to_wake(const void *nothing)
{
    (void)nothing;
    return agent.posted || agent.stops;
}

static bool is_drained(const void *nothing)
{
    (void)nothing;
    return !agent.n_posted;
}

static void *agent_main(void *argument)
{
    struct shmemi_stream_work *list = NULL;
    unsigned turns = 0;
    (void)argument;
    shmemi_threads_enter("stream agent", "shmem-agent");
    pthread_mutex_lock(&agent.lock);
    while (!agent.stops) {
        take_posted(&list);
        if (!list && !has_sent(turns)) {
            shmemi_sleep_until(&agent.changed, &agent.lock, has_to_wake, NULL);
            turns = 0;
            continue;
        }
        pthread_mutex_unlock(&agent.lock);
        leave_requests();
        unsigned n_done = advance_all(&list);
        if (n_done)
            turns = 0;
        else
            rest(&turns);
        pthread_mutex_lock(&agent.lock);
        agent.n_posted -= n_done;
        if (n_done)
            pthread_cond_broadcast(&agent.changed);
    }
    pthread_mutex_unlock(&agent.lock);
    return NULL;
}

static int make_sends(void)
{
    struct sends *sends = calloc((size_t)shmemi_job.n_pes, sizeof *sends);
    if (!sends) {
        shmemi_error("no memory for operations in streams");
        return -ENOMEM;
    }
    atomic_store(&agent.sends, sends);
    return 0;
}

/* With the lock held. */
static int start(void)
{
    agent.stops = false;
    int rc = shmemi_thread_start(&agent.thread, "the thread for operations in streams", agent_main, NULL);
    agent.runs = !rc;
    return rc;
}

/* ---- Work -------------------------------------------------------------------------------------------------------- */

static int start_once(void)
{
    pthread_mutex_lock(&agent.lock);
    int rc = agent.sends ? 0 : make_sends();
    if (!rc && !agent.runs)
        rc = start();
    pthread_mutex_unlock(&agent.lock);
    return rc;
}

static void hand_over(struct shmemi_stream_work *work)
{
    if (work->watched)
        shmemi_watched_by_agent(work->watched);
    pthread_mutex_lock(&agent.lock);
    work->next = agent.posted;
    agent.posted = work;
    agent.n_posted++;
    pthread_cond_broadcast(&agent.changed);
    pthread_mutex_unlock(&agent.lock);
}

/* Without room, and where the stream cannot copy, it waits. */
static int begin_turn(const struct shmemi_stream *stream, struct shmemi_stream_work *work)
{
    struct shmemi_transfer *transfer = &work->transfer;
    int rc = -ENOTSUP;
    if (work->room)
        rc = work->kind->turn_begin_with_copy(stream, work->room, &transfer->mine, transfer->shape.width, &work->turn);
    if (!rc)
        transfer->mine = shmemi_place_host(work->room);
    return rc == -ENOTSUP ? work->kind->turn_begin(stream, &work->turn) : rc;
}

static int enqueue(const struct shmemi_stream *stream, struct shmemi_stream_work *work)
{
    if (work->sends)
        atomic_fetch_add(&sends_of(work)->posted, 1);
    int rc = begin_turn(stream, work);
    if (!rc) {
        hand_over(work);
        return 0;
    }
    if (work->sends)
        atomic_fetch_sub(&sends_of(work)->posted, 1);
    free_work(work);
    return rc;
}

/* Threads may share a stream: the line is in the stream's order. */
static int enqueue_in_line(const struct shmemi_stream *stream, struct shmemi_stream_work *work)
{
    pthread_mutex_lock(&agent.order);
    int rc = enqueue(stream, work);
    pthread_mutex_unlock(&agent.order);
    return rc;
}

int shmemi_stream_agent_post(const struct shmemi_stream *stream, const struct shmemi_stream_work *work)
{
    struct shmemi_stream_work *copy = malloc(sizeof *copy);
    if (!copy) {
        shmemi_error("no memory for an operation in a stream");
        give_back_parts(work);
        return -ENOMEM;
    }
    *copy = *work;
    copy->kind = stream->memory->streams;
    copy->has_come = false;
    copy->watched = stream->watched;
    copy->line = stream->is_in_order ? stream->handle : NULL;
    int rc = shmemi_stream_refuse_recording(stream);
    if (!rc)
        rc = start_once();
    if (!rc)
        return copy->line ? enqueue_in_line(stream, copy) : enqueue(stream, copy);
    free_work(copy);
    return rc;
}

bool shmemi_stream_agent_sends_to(int pe)
{
    struct sends *sends = atomic_load(&agent.sends);
    return sends && atomic_load(&sends[pe].posted) != atomic_load(&sends[pe].settled);
}

bool shmemi_stream_agent_has_sends(void)
{
    for (int pe = 0; pe < shmemi_job.n_pes && atomic_load(&agent.sends); pe++)
        if (shmemi_stream_agent_sends_to(pe))
            return true;
    return false;
}

int shmemi_stream_agent_quiet(void)
{
    struct sends *sends = atomic_load(&agent.sends);
    int rc = shmemi_drivers_quiet(&shmemi_stream_context);
    for (int pe = 0; pe < shmemi_job.n_pes && !rc; pe++)
        atomic_store(&sends[pe].settled, sends[pe].done);
    return rc;
}

void shmemi_stream_agent_drain(void)
{
    pthread_mutex_lock(&agent.lock);
    shmemi_sleep_until(&agent.changed, &agent.lock, is_drained, NULL);
    pthread_mutex_unlock(&agent.lock);
}

void shmemi_stream_agent_close(void)
{
    pthread_mutex_lock(&agent.lock);
    bool runs = agent.runs;
    agent.stops = true;
    agent.runs = false;
    pthread_cond_broadcast(&agent.changed);
    pthread_mutex_unlock(&agent.lock);
    if (runs)
        pthread_join(agent.thread, NULL);
    free(atomic_exchange(&agent.sends, NULL));
    memset(&shmemi_stream_context, 0, sizeof shmemi_stream_context);
}
