/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of small operations: collected by a context, started when list.h says, completed in the order of their start.
 */
#include "transport/direct/list.h"

#include "base/likely.h"
#include "base/settings.h"
#include "base/wake/interleave.h"
#include "gpu/list.h"
#include "transport/service.h"

#include <errno.h>
#include <pthread.h>

enum {
    GROWTH = 512,     /* most by which the length at which a list is started grows */
    SWEEP_MS = 10,    /* between sweeps over lists that wait to be started */
    IDLE_SWEEPS = 50, /* after so many sweeps in a row without such lists, sweeping stops */
};

/* ---- A context's lists, locked ----------------------------------------------------------------------------------- */

/* The lock is held for a few instructions, or for the launch of a kernel. Besides the thread that uses the context, others
 * take it only to start lists that wait. */
static inline bool try_lock(struct shmemi_context *context)
{
    return shmemi_biased_try_lock(&context->lists.lock);
}

static inline void lock(struct shmemi_context *context)
{
    shmemi_biased_lock(&context->lists.lock);
}

static inline void unlock(struct shmemi_context *context)
{
    shmemi_biased_unlock(&context->lists.lock);
}

static void note_failure(struct shmemi_context *context, int rc)
{
    if (!context->lists.failed)
        context->lists.failed = rc;
}

/* ---- Lists that wait to be started ------------------------------------------------------------------------------- */

_Atomic unsigned shmemi_direct_list_waiting;

/* Lists of all contexts. This lock is taken after a context's; a thread that holds it may only try a context's. */
static struct {
    pthread_mutex_t lock;
    struct shmemi_list *first;
    atomic_bool is_watched; /* the service thread sweeps every SWEEP_MS */
    unsigned idle_sweeps;
} waiting = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Wake the service thread if it has stopped sweeping. */
static void watch(void)
{
    shmemi_interleave();
    if (!atomic_load(&waiting.is_watched) && !atomic_exchange(&waiting.is_watched, true))
        shmemi_service_notice();
}

static void begin_waiting(struct shmemi_context *context, struct shmemi_list *list)
{
    list->context = context;
    list->was_seen = false;
    atomic_store(&shmemi_pending_is_held, true);
    pthread_mutex_lock(&waiting.lock);
    list->next_waiting = waiting.first;
    list->link_waiting = &waiting.first;
    if (waiting.first)
        waiting.first->link_waiting = &list->next_waiting;
    waiting.first = list;
    atomic_fetch_add(&shmemi_direct_list_waiting, 1);
    pthread_mutex_unlock(&waiting.lock);
    watch();
}

/* With the lock held. */
static void unlink_waiting(struct shmemi_list *list)
{
    *list->link_waiting = list->next_waiting;
    if (list->next_waiting)
        list->next_waiting->link_waiting = list->link_waiting;
    atomic_fetch_sub(&shmemi_direct_list_waiting, 1);
}

/* ---- Starting and completing, with the context locked ------------------------------------------------------------ */

/* Start the context's list, which must no longer be among those that wait. */
static int launch(struct shmemi_context *context)
{
    struct shmemi_list *list = context->lists.collecting;
    context->lists.collecting = NULL;
    list->next = NULL;
    int rc = list->memory->lists->start(list);
    if (rc) {
        list->memory->lists->give(list);
        return rc;
    }
    if (context->lists.newest)
        context->lists.newest->next = list;
    else
        context->lists.oldest = list;
    context->lists.newest = list;
    context->lists.started++;
    if (context->lists.patience < UINT32_MAX / GROWTH)
        context->lists.patience *= GROWTH;
    shmemi_pending_issue(&context->pending, SHMEMI_PENDING_DIRECT);
    return 0;
}

static int start(struct shmemi_context *context)
{
    struct shmemi_list *list = context->lists.collecting;
    if (!list)
        return 0;
    pthread_mutex_lock(&waiting.lock);
    unlink_waiting(list);
    pthread_mutex_unlock(&waiting.lock);
    return launch(context);
}

/* Take the lists that are complete off the context. */
static void collect(struct shmemi_context *context)
{
    struct shmemi_list *list;
    while ((list = context->lists.oldest)) {
        int rc = list->memory->lists->test(list);
        if (rc == -EAGAIN)
            return;
        context->lists.oldest = list->next;
        if (!list->next)
            context->lists.newest = NULL;
        context->lists.finished++;
        if (rc)
            note_failure(context, rc);
        else
            shmemi_list_deliver(list);
        list->memory->lists->give(list);
    }
}

static bool is_idle(struct shmemi_context *context)
{
    collect(context);
    return !context->lists.oldest;
}

/* Start what the contexts have collected, except for those that another thread is using. */
static void flush_waiting(bool old_ones)
{
    pthread_mutex_lock(&waiting.lock);
    for (struct shmemi_list *list = waiting.first, *next; list; list = next) {
        struct shmemi_context *context = list->context;
        next = list->next_waiting;
        if (old_ones && !list->was_seen) {
            list->was_seen = true;
            continue;
        }
        if (!try_lock(context))
            continue;
        unlink_waiting(list);
        int rc = launch(context);
        if (rc)
            note_failure(context, rc);
        unlock(context);
    }
    pthread_mutex_unlock(&waiting.lock);
}

/* ---- Collecting, with the context locked ------------------------------------------------------------------------- */

/* Let the next operations only be added, without further checks, until the list has this length. */
static void look_again_at(struct shmemi_list *list, uint32_t length)
{
    uint32_t limit = shmemi_settings.gpu_batch < list->capacity ? (uint32_t)shmemi_settings.gpu_batch : list->capacity;
    list->look_at = length < limit ? length : limit;
}

/* Start the present list and take an empty one for the memory of this place. NULL: there is none now. */
static struct shmemi_list *take(struct shmemi_context *context, const struct shmemi_place *place, int *rc_p)
{
    *rc_p = start(context);
    if (*rc_p)
        return NULL;
    struct shmemi_list *list = place->memory->lists ? place->memory->lists->take(place) : NULL;
    if (!list && context->lists.oldest) {
        collect(context);
        list = place->memory->lists->take(place);
    }
    *rc_p = list ? 0 : -EAGAIN;
    if (list) {
        context->lists.collecting = list;
        list->look_at = 0;
        look_again_at(list, context->lists.patience);
        shmemi_pending_expect(&context->pending, SHMEMI_PENDING_DIRECT);
        begin_waiting(context, list);
    }
    return list;
}

static inline struct shmemi_list *list_for(struct shmemi_context *context, const struct shmemi_place *place,
                                           size_t nbytes, int *rc_p)
{
    struct shmemi_list *list = context->lists.collecting;
    *rc_p = 0;
    if (shmemi_likely(list && list->object == place->object && shmemi_list_has_room(list, nbytes)))
        return list;
    return take(context, place, rc_p);
}

static __attribute__((noinline)) int start_if_due_now(struct shmemi_context *context)
{
    struct shmemi_list *list = context->lists.collecting;
    uint32_t length = shmemi_list_length(list);
    if (length >= shmemi_settings.gpu_batch || length == list->capacity)
        return start(context);
    if (context->lists.is_patient || !is_idle(context)) {
        look_again_at(list, context->lists.is_patient ? UINT32_MAX : 2 * length);
        return 0;
    }
    if (context->lists.patience == 0)
        context->lists.patience = 1;
    return start(context);
}

/* After an operation has been added. */
static inline __attribute__((always_inline)) int start_if_due(struct shmemi_context *context,
                                                              const struct shmemi_list *list)
{
    return shmemi_likely(shmemi_list_length(list) < list->look_at) ? 0 : start_if_due_now(context);
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* The side of a transfer whose device can carry it out; NULL: none, or both sides must take part. */
static inline const struct shmemi_place *device_side(const struct shmemi_place *dest, const struct shmemi_place *source)
{
    const struct shmemi_place *side = dest->memory == &shmemi_memory_host ? source : dest;
    bool is_alone =
        dest->memory == &shmemi_memory_host || source->memory == &shmemi_memory_host || dest->object == source->object;
    return is_alone && side->object && side->memory->lists ? side : NULL;
}

static void add_copy(struct shmemi_list *list, const struct shmemi_place *dest, const struct shmemi_place *source,
                     size_t nbytes)
{
    if (source->memory == &shmemi_memory_host)
        shmemi_list_put(list, dest->address, (const void *)source->address, nbytes);
    else if (dest->memory == &shmemi_memory_host)
        shmemi_list_get(list, (void *)dest->address, source->address, nbytes);
    else
        shmemi_list_copy(list, dest->address, source->address, nbytes);
}

static __attribute__((noinline)) int copy_by_new_list(struct shmemi_context *context, const struct shmemi_place *dest,
                                                      const struct shmemi_place *source, size_t nbytes)
{
    const struct shmemi_place *side = device_side(dest, source);
    int rc;
    if (!side || !shmemi_settings.gpu_batch)
        return -EAGAIN;
    struct shmemi_list *list = list_for(context, side, nbytes, &rc);
    if (!list)
        return rc;
    add_copy(list, dest, source, nbytes);
    return start_if_due(context, list);
}

/* Fast path: a list for this device is being collected, and has room. */
int shmemi_direct_list_copy(struct shmemi_context *context, const struct shmemi_place *dest,
                            const struct shmemi_place *source, size_t nbytes)
{
    int rc;
    if (shmemi_unlikely(nbytes > shmemi_settings.gpu_batch_size))
        return -EAGAIN;
    lock(context);
    struct shmemi_list *list = context->lists.collecting;
    if (!list)
        rc = copy_by_new_list(context, dest, source, nbytes);
    else if (list->object == dest->object && list->object == source->object) {
        shmemi_list_copy(list, dest->address, source->address, nbytes);
        rc = start_if_due(context, list);
    } else if (list->object == dest->object && nbytes <= sizeof(uint64_t) && source->memory == &shmemi_memory_host) {
        shmemi_list_store(list, dest->address, (const void *)source->address, nbytes);
        rc = start_if_due(context, list);
    } else
        rc = copy_by_new_list(context, dest, source, nbytes);
    unlock(context);
    return rc;
}

/* Wait for a free list: those of other contexts become free once they have been started and are complete. */
static struct shmemi_list *await_list(struct shmemi_context *context, const struct shmemi_place *place, size_t nbytes,
                                      int *rc_p)
{
    unsigned spins = 0;
    struct shmemi_list *list;
    while (!(list = list_for(context, place, nbytes, rc_p)) && *rc_p == -EAGAIN) {
        unlock(context);
        flush_waiting(false);
        shmemi_progress(&spins);
        lock(context);
    }
    return list;
}

int shmemi_direct_list_amo(struct shmemi_context *context, const struct shmemi_place *word,
                           const struct shmemi_amo *amo, void *fetch_p)
{
    int rc;
    lock(context);
    struct shmemi_list *list = await_list(context, word, sizeof(uint64_t), &rc);
    if (list) {
        shmemi_list_amo(list, word->address, amo, fetch_p);
        rc = start_if_due(context, list);
    }
    unlock(context);
    return rc;
}

static bool is_finished(struct shmemi_context *context, uint64_t number)
{
    lock(context);
    collect(context);
    bool finished = context->lists.finished >= number;
    if (!context->lists.oldest && !context->lists.collecting)
        context->lists.patience = 0;
    unlock(context);
    return finished;
}

/* Wait for the first so many lists. */
static int complete(struct shmemi_context *context, uint64_t number)
{
    unsigned spins = 0;
    while (!is_finished(context, number))
        shmemi_progress(&spins);
    lock(context);
    int rc = context->lists.failed;
    context->lists.failed = 0;
    unlock(context);
    return rc;
}

int shmemi_direct_list_amo_now(struct shmemi_context *context, const struct shmemi_place *word,
                               const struct shmemi_amo *amo, void *fetch_p)
{
    lock(context);
    int rc = start(context); /* so that the list to come sees the effects of earlier operations */
    struct shmemi_list *list = rc ? NULL : await_list(context, word, sizeof(uint64_t), &rc);
    if (list) {
        shmemi_list_amo(list, word->address, amo, fetch_p);
        rc = start(context);
    }
    uint64_t number = context->lists.started;
    unlock(context);
    return rc ? rc : complete(context, number);
}

int shmemi_direct_list_copy_now(struct shmemi_context *context, const struct shmemi_place *dest,
                                const struct shmemi_place *source, size_t nbytes)
{
    const struct shmemi_place *side = device_side(dest, source);
    if (!side || nbytes > shmemi_settings.gpu_batch_size)
        return -EAGAIN;
    lock(context);
    int rc = start(context);
    struct shmemi_list *list = rc ? NULL : list_for(context, side, nbytes, &rc);
    if (list) {
        add_copy(list, dest, source, nbytes);
        rc = start(context);
    }
    uint64_t number = context->lists.started;
    unlock(context);
    return rc ? rc : complete(context, number);
}

int shmemi_direct_list_copy_then_amo(struct shmemi_context *context, const struct shmemi_place *dest,
                                     const struct shmemi_place *source, size_t nbytes, const struct shmemi_place *word,
                                     const struct shmemi_amo *amo)
{
    const struct shmemi_place *side = nbytes ? device_side(dest, source) : word;
    int rc;
    if (!side || side->object != word->object || nbytes > shmemi_settings.gpu_batch_size)
        return -EAGAIN;
    lock(context);
    /* without a transfer the update must follow a copy of this thread, so the list must be this thread's */
    struct shmemi_list *list = nbytes ? list_for(context, side, nbytes, &rc) : take(context, side, &rc);
    if (list && shmemi_list_length(list) + 2 > list->capacity)
        list = take(context, side, &rc);
    if (list) {
        if (nbytes)
            add_copy(list, dest, source, nbytes);
        shmemi_list_amo_last(list, word->address, amo);
        rc = start(context);
    }
    unlock(context);
    return rc;
}

/* ---- Flush and completion ---------------------------------------------------------------------------------------- */

int shmemi_direct_list_flush(struct shmemi_context *context)
{
    lock(context);
    int rc = start(context);
    unlock(context);
    return rc;
}

static int begin_gathering(struct shmemi_context *context, size_t expected)
{
    (void)expected;
    context->lists.is_patient = true;
    return 0;
}

static int end_gathering(struct shmemi_context *context)
{
    context->lists.is_patient = false;
    return shmemi_direct_list_flush(context);
}

static int flush(struct shmemi_context *context)
{
    atomic_store_explicit(&context->lists.n_alone, 0, memory_order_relaxed);
    return shmemi_direct_list_flush(context);
}

const struct shmemi_gathering shmemi_direct_gathering = {
    .begin = begin_gathering, .flush = flush, .end = end_gathering};

int shmemi_direct_list_complete(struct shmemi_context *context)
{
    lock(context);
    uint64_t number = context->lists.started;
    unlock(context);
    return complete(context, number);
}

bool shmemi_direct_list_is_finished(struct shmemi_context *context)
{
    lock(context);
    uint64_t number = context->lists.started;
    unlock(context);
    return is_finished(context, number);
}

/* Start the lists that already waited at the last sweep. */
static void sweep(void)
{
    if (atomic_load(&shmemi_direct_list_waiting)) {
        waiting.idle_sweeps = 0;
        flush_waiting(true);
    } else if (++waiting.idle_sweeps == IDLE_SWEEPS) {
        atomic_store(&waiting.is_watched, false);
        if (atomic_load(&shmemi_direct_list_waiting)) /* a thread that added one just now may not have woken us */
            atomic_store(&waiting.is_watched, true);
        waiting.idle_sweeps = 0;
    }
}

static int sleep_ms(void)
{
    return atomic_load(&waiting.is_watched) ? SWEEP_MS : -1;
}

/* The service thread starts only lists that have waited for long, in its sweeps. */
static bool has_to_flush(enum shmemi_turn turn)
{
    return turn == SHMEMI_TURN_TO_FLUSH;
}

/* Returns 0: having started a list is no reason for a waiting thread to try again sooner. */
static unsigned advance(void)
{
    flush_waiting(false);
    return 0;
}

const struct shmemi_worker shmemi_worker_lists = {
    .name = "lists that wait to be started",
    .work = &shmemi_direct_list_waiting,
    .has_work = has_to_flush,
    .advance = advance,
    .sleep_ms = sleep_ms,
    .sweep = sweep,
};
