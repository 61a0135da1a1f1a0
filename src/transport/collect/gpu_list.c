/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of small operations: collected by a context, started when gpu_list.h says, completed in the order of their start.
 */
#include "transport/collect/gpu_list.h"

#include "base/likely.h"
#include "base/settings.h"
#include "gpu/list.h"
#include "transport/collect/held.h"
#include "base/tuning.h"

#include <errno.h>

/* ---- A context's lists, locked ----------------------------------------------------------------------------------- */

/* The lock is held for a few instructions, or for the launch of a kernel. Besides the thread that uses the context, others
 * take it only to start lists that wait. */
static inline void lock(struct shmemi_context *context)
{
    shmemi_biased_lock(&context->lists.held.lock);
}

static inline void unlock(struct shmemi_context *context)
{
    shmemi_biased_unlock(&context->lists.held.lock);
}

/* ---- Starting and completing, with the context locked ------------------------------------------------------------ */

/* Start the context's list, which no longer counts as held back. */
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
    if (context->lists.patience < UINT32_MAX / SHMEMI_GPU_LIST_GROWTH)
        context->lists.patience *= SHMEMI_GPU_LIST_GROWTH;
    shmemi_pending_issue(&context->pending, SHMEMI_PENDING_DIRECT);
    return 0;
}

static int start(struct shmemi_context *context)
{
    if (!context->lists.collecting)
        return 0;
    shmemi_held_end(&context->lists.held);
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
        if (!rc)
            shmemi_list_deliver(list);
        else if (!context->lists.held.failed)
            context->lists.held.failed = rc;
        list->memory->lists->give(list);
    }
}

static bool is_idle(struct shmemi_context *context)
{
    collect(context);
    return !context->lists.oldest;
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
        shmemi_held_begin(context, &context->lists.held, launch);
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
    if (shmemi_context_is_in_session(context) || !is_idle(context)) {
        look_again_at(list, shmemi_context_is_in_session(context) ? UINT32_MAX : 2 * length);
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
int shmemi_gpu_list_copy(struct shmemi_context *context, const struct shmemi_place *dest,
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

/* Few transfers that their driver would rather leave to the owner leave alone: a kernel that carries out a list may have to
 * wait for its turn on the GPU, which pays for many transfers only. */
static bool is_better_alone(const struct shmemi_transfer *transfer)
{
    const struct shmemi_driver *driver = transfer->view->driver;
    return driver->is_left_to_owner && driver->is_left_to_owner(transfer) &&
           atomic_fetch_add_explicit(&transfer->context->lists.n_alone, 1, memory_order_relaxed) <
               SHMEMI_GPU_LIST_AFTER_ALONE;
}

int shmemi_gpu_list_take(const struct shmemi_transfer *transfer)
{
    const struct shmemi_ends ends = shmemi_transfer_ends(transfer);
    if (transfer->shape.width > shmemi_settings.gpu_batch_size || is_better_alone(transfer))
        return -EAGAIN;
    return shmemi_gpu_list_copy(transfer->context, &ends.dest, &ends.source, transfer->shape.width);
}

/* Wait for a free list: those of other contexts become free once they have been started and are complete. */
static struct shmemi_list *await_list(struct shmemi_context *context, const struct shmemi_place *place, size_t nbytes,
                                      int *rc_p)
{
    unsigned spins = 0;
    struct shmemi_list *list;
    while (!(list = list_for(context, place, nbytes, rc_p)) && *rc_p == -EAGAIN) {
        unlock(context);
        shmemi_progress(&spins);
        lock(context);
    }
    return list;
}

int shmemi_gpu_list_amo(struct shmemi_context *context, const struct shmemi_place *word, const struct shmemi_amo *amo,
                        void *fetch_p)
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

int shmemi_gpu_list_complete(struct shmemi_context *context)
{
    unsigned spins = 0;
    lock(context);
    const uint64_t number = context->lists.started;
    unlock(context);
    while (!is_finished(context, number))
        shmemi_progress(&spins);
    lock(context);
    int rc = shmemi_held_take_failure(&context->lists.held);
    unlock(context);
    return rc;
}

int shmemi_gpu_list_amo_now(struct shmemi_context *context, const struct shmemi_place *word,
                            const struct shmemi_amo *amo, void *fetch_p)
{
    lock(context);
    int rc = start(context); /* so that the list to come sees the effects of earlier operations */
    struct shmemi_list *list = rc ? NULL : await_list(context, word, sizeof(uint64_t), &rc);
    if (list) {
        shmemi_list_amo(list, word->address, amo, fetch_p);
        rc = start(context);
    }
    unlock(context);
    return rc ? rc : shmemi_gpu_list_complete(context);
}

int shmemi_gpu_list_copy_now(struct shmemi_context *context, const struct shmemi_place *dest,
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
    unlock(context);
    return rc ? rc : shmemi_gpu_list_complete(context);
}

int shmemi_gpu_list_copy_then_amo(struct shmemi_context *context, const struct shmemi_place *dest,
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

int shmemi_gpu_list_flush(struct shmemi_context *context)
{
    lock(context);
    int rc = start(context), failed = shmemi_held_take_failure(&context->lists.held);
    unlock(context);
    return rc ? rc : failed;
}

bool shmemi_gpu_list_is_finished(struct shmemi_context *context)
{
    lock(context);
    uint64_t number = context->lists.started;
    unlock(context);
    return is_finished(context, number);
}
