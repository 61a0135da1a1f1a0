/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The owner's end of requests. Arrivals are checked against the region table, their copies started at once and
 * settled in order of completion of the oldest; everything here runs under the service lock.
 */
#include "transport/staged/owner.h"

#include "base/copy_bytes.h"
#include "base/likely.h"
#include "base/log.h"
#include "base/sanitizer.h"
#include "base/wake/interleave.h"
#include "base/tuning.h"
#include "bootstrap/job.h"
#include "instrument/measure.h"
#include "transport/progress.h"
#include "transport/staged/scatter.h"
#include "transport/staged/parts.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

enum { COPIES_MAX = 256 }; /* under way; further requests wait in their link */

const struct shmemi_resolver *shmemi_owner_resolver;

/* Copies under way, in order. */
static struct {
    struct shmemi_arrival *oldest, *newest;
    atomic_uint n; /* atomic: other threads check whether there are any */
} copies;

void shmemi_arrivals_open(const struct shmemi_resolver *resolver)
{
    shmemi_owner_resolver = resolver;
}

/* The rows in the owner's copy, and the payload without gaps: dest is the owner's side for a put. */
static struct shmemi_shape shape_of(const struct shmemi_request *request)
{
    const bool is_get = request->type == SHMEMI_REQUEST_GET;
    return (struct shmemi_shape){
        .width = request->width,
        .rows = request->rows,
        .dest_pitch = is_get ? request->width : request->pitch,
        .source_pitch = is_get ? request->pitch : request->width,
        .layer = request->layer,
        .dest_gap = is_get ? 0 : request->gap,
        .source_gap = is_get ? request->gap : 0,
    };
}

/* Bytes from the first to the last in the owner's copy; SIZE_MAX on overflow. */
static uint64_t reach(const struct shmemi_request *request)
{
    const struct shmemi_shape shape = shape_of(request);
    return shmemi_shape_extent(&shape, request->pitch, request->gap);
}

/* Whole layers, at least two, of at least two rows; or none. */
static bool has_good_layers(const struct shmemi_request *request)
{
    if (!request->layer)
        return !request->gap;
    return request->layer > 1 && request->rows > request->layer && request->rows % request->layer == 0;
}

static bool may_lack_slot(const struct shmemi_request *request, uint64_t payload)
{
    const bool is_inline = payload <= SHMEMI_INLINE_MAX && request->inline_size == payload;
    return request->type == SHMEMI_REQUEST_AMO || (request->type == SHMEMI_REQUEST_PUT && is_inline);
}

int shmemi_request_check(const struct shmemi_request *request)
{
    uint64_t payload, end;
    if (!shmemi_key_equals(&request->job_key, &shmemi_job.key) || request->origin >= (uint32_t)shmemi_job.n_pes)
        return -EINVAL;
    if (request->type < SHMEMI_REQUEST_PUT || request->type > SHMEMI_REQUEST_PUT_SIGNAL)
        return -EINVAL;
    if (request->rows == 0 || (request->rows > 1 && request->pitch < request->width) || !has_good_layers(request))
        return -EINVAL;
    if (__builtin_mul_overflow((uint64_t)request->rows, request->width, &payload) || payload > shmemi_staging.chunk)
        return -EINVAL;
    if (reach(request) == SIZE_MAX || __builtin_add_overflow(reach(request), request->offset, &end))
        return -EINVAL;
    if (request->type == SHMEMI_REQUEST_SCATTER && request->rows != 1)
        return -EINVAL;
    if (shmemi_is_slotless(request->slot))
        return may_lack_slot(request, payload) ? 0 : -EINVAL;
    return request->slot < shmemi_staging.slots ? 0 : -EINVAL;
}

static const char *const operations[] = {
    [SHMEMI_REQUEST_PUT] = "put",
    [SHMEMI_REQUEST_GET] = "get",
    [SHMEMI_REQUEST_AMO] = "atomic",
    [SHMEMI_REQUEST_SCATTER] = "batch of puts",
    [SHMEMI_REQUEST_PUT_SIGNAL] = "put with signal",
};

static void note_served(const struct shmemi_arrival *arrival)
{
    const struct shmemi_request *request = &arrival->request;
    if (arrival->begin)
        shmemi_measure_served(operations[request->type], arrival->begin, (int)request->origin, request->region,
                              request->offset, request->rows * request->width);
}

/* For memory whose GPU cannot update words: they change only under the service lock, held here, so that no update is
 * lost. */
static int update_by_copies(const struct shmemi_place *place, const struct shmemi_amo *amo, uint64_t *old_p)
{
    uint64_t word = 0, before;
    struct shmemi_place here = shmemi_place_host(&word);
    struct shmemi_shape shape = shmemi_shape_linear(amo->size);
    const bool depends_on_old = amo->op != SHMEMI_AMO_SET;
    int rc = depends_on_old ? place->memory->copy(&here, place, &shape) : 0;
    if (rc)
        return rc;
    before = word;
    *old_p = shmemi_amo_apply(&word, amo);
    return depends_on_old && word == before ? 0 : place->memory->copy(place, &here, &shape);
}

/* With the service lock held. */
static int update_word(const struct shmemi_place *place, const struct shmemi_amo *amo, uint64_t *old_p)
{
    int rc = place->memory->amo(place, amo, old_p);
    return rc == -ENOTSUP ? update_by_copies(place, amo, old_p) : rc;
}

/* The word of a signal; the region is borrowed until release. -EINVAL: this PE does not have it. */
static int find_signal(const struct shmemi_request *request, struct shmemi_place *word_p)
{
    enum { SIZE = sizeof request->u.signal.value };
    const uint32_t region = request->u.signal.region;
    const uint64_t offset = request->u.signal.offset;
    if (request->u.signal.op != SHMEMI_AMO_SET && request->u.signal.op != SHMEMI_AMO_ADD)
        return -EINVAL;
    int rc = shmemi_owner_resolver->resolve(region, offset, SIZE, word_p);
    if (rc)
        return rc;
    if (!((word_p->memory == &shmemi_memory_host ? word_p->address : offset) % SIZE))
        return 0;
    shmemi_owner_resolver->release();
    return -EINVAL;
}

/* Checks the word of a signal before any memory is touched. */
static int check_signal(const struct shmemi_request *request)
{
    struct shmemi_place word;
    int rc = find_signal(request, &word);
    if (!rc)
        shmemi_owner_resolver->release();
    else
        shmemi_error("PE %u sent a put whose signal is no word that this PE has (offset %llu of region %u)",
                     request->origin, (unsigned long long)request->u.signal.offset, request->u.signal.region);
    return rc;
}

static int update_signal(const struct shmemi_request *request)
{
    const struct shmemi_amo amo = {
        .op = request->u.signal.op, .size = sizeof request->u.signal.value, .operand = request->u.signal.value};
    struct shmemi_place word;
    uint64_t old;
    int rc = find_signal(request, &word);
    if (rc)
        return rc;
    shmemi_access_for_peer_begin();
    rc = update_word(&word, &amo, &old);
    shmemi_access_for_peer_end();
    shmemi_owner_resolver->release();
    return rc;
}

static void settle(struct shmemi_arrival *arrival, int status)
{
    const bool has_signal = arrival->request.type == SHMEMI_REQUEST_PUT_SIGNAL;
    if (has_signal && shmemi_parts_are_complete(&arrival->request, status != 0))
        status = update_signal(&arrival->request);
    note_served(arrival);
    shmemi_interleave();
    arrival->settle(arrival, status);
    shmemi_owner_resolver->release();
}

static unsigned n_copies(void)
{
    return atomic_load_explicit(&copies.n, memory_order_relaxed);
}

static void queue(struct shmemi_arrival *arrival)
{
    arrival->next = NULL;
    if (copies.newest)
        copies.newest->next = arrival;
    else
        copies.oldest = arrival;
    copies.newest = arrival;
    shmemi_interleave();
    atomic_fetch_add_explicit(&copies.n, 1, memory_order_relaxed);
}

bool shmemi_arrivals_have_room(void)
{
    return n_copies() < COPIES_MAX;
}

/* Settle the copies that are done, from the oldest on. */
static unsigned poll_copies(void)
{
    unsigned done = 0;
    struct shmemi_arrival *arrival;
    while ((arrival = copies.oldest)) {
        int rc = arrival->event.memory->event_test(&arrival->event);
        if (rc == -EAGAIN)
            break;
        copies.oldest = arrival->next;
        if (!arrival->next)
            copies.newest = NULL;
        atomic_fetch_sub_explicit(&copies.n, 1, memory_order_relaxed);
        settle(arrival, rc);
        done++;
    }
    return done;
}

/* Is this a short copy with none under way before it? Then an event would take longer than the copy. */
static bool is_done_at_once(const struct shmemi_arrival *arrival)
{
    return shmemi_request_payload_size(&arrival->request) <= SHMEMI_OWNER_AT_ONCE && !n_copies() &&
           !arrival->is_followed && !shmemi_ring_has_work();
}

/* Copy the arrival's data; event.memory stays NULL when the copy is already complete. */
static int start_copy(struct shmemi_arrival *arrival, const struct shmemi_place *mine)
{
    const struct shmemi_request *request = &arrival->request;
    struct shmemi_place payload = shmemi_place_host(arrival->payload);
    bool is_put = shmemi_request_is_put(request->type);
    const struct shmemi_place *dest = is_put ? mine : &payload, *source = is_put ? &payload : mine;
    const struct shmemi_shape shape = shape_of(request);
    arrival->event = (struct shmemi_event){0};
    if (is_done_at_once(arrival))
        return mine->memory->copy(dest, source, &shape);
    return mine->memory->copy_start(dest, source, &shape, &arrival->event);
}

int shmemi_owner_amo(const struct shmemi_place *place, const struct shmemi_amo *amo, void *fetch_p)
{
    uint64_t old = 0;
    shmemi_service_lock();
    int rc = update_word(place, amo, &old);
    shmemi_service_unlock();
    if (!rc && fetch_p)
        shmemi_copy_bytes(fetch_p, &old, amo->size);
    return rc;
}

static int apply_amo(struct shmemi_arrival *arrival, const struct shmemi_place *mine)
{
    const struct shmemi_request *request = &arrival->request;
    uint64_t old = 0, alignment = mine->memory == &shmemi_memory_host ? mine->address : request->offset;
    struct shmemi_amo amo = {
        .op = request->u.amo.op,
        .size = request->u.amo.size,
        .operand = request->u.amo.operand,
        .compare = request->u.amo.compare,
    };
    if ((amo.size != 4 && amo.size != 8) || amo.size != request->width || alignment % amo.size ||
        amo.op > SHMEMI_AMO_COMPARE_SWAP) {
        shmemi_error("PE %u asked for an atomic operation that does not exist, or on a word of region %u that is not "
                     "aligned to its size",
                     request->origin, request->region);
        return -EINVAL;
    }
    shmemi_access_for_peer_begin();
    int rc = update_word(mine, &amo, &old);
    shmemi_access_for_peer_end();
    if (!rc && !shmemi_is_slotless(request->slot))
        memcpy(arrival->payload, &old, amo.size);
    return rc;
}

void shmemi_arrival_accept(struct shmemi_arrival *arrival)
{
    const struct shmemi_request *request = &arrival->request;
    struct shmemi_place mine;
    arrival->begin = shmemi_unlikely(shmemi_measure.is_on) ? shmemi_clock() : 0;
    if (request->type == SHMEMI_REQUEST_SCATTER) {
        int status = shmemi_scatter(request, arrival->payload);
        note_served(arrival);
        arrival->settle(arrival, status);
        return;
    }
    int rc = request->type == SHMEMI_REQUEST_PUT_SIGNAL ? check_signal(request) : 0;
    if (rc) {
        arrival->settle(arrival, rc);
        return;
    }
    rc = shmemi_owner_resolver->resolve(request->region, request->offset, reach(request), &mine);
    if (rc) {
        shmemi_error("PE %u asked for %llu bytes at offset %llu of region %u, which this PE does not have",
                     request->origin, (unsigned long long)reach(request), (unsigned long long)request->offset,
                     request->region);
        arrival->settle(arrival, rc);
        return;
    }
    if (request->type == SHMEMI_REQUEST_AMO) {
        settle(arrival, apply_amo(arrival, &mine));
        return;
    }
    shmemi_access_for_peer_begin();
    rc = start_copy(arrival, &mine);
    shmemi_access_for_peer_end();
    if (rc || !arrival->event.memory)
        settle(arrival, rc);
    else
        queue(arrival);
}

/* ---- The worker -------------------------------------------------------------------------------------------------- */

/* Nothing wakes the service thread when a copy is done: it has to poll. */
static int sleep_ms(void)
{
    return n_copies() ? 0 : -1;
}

const struct shmemi_worker shmemi_worker_arrivals = {
    .name = "copies for other PEs",
    .is_exclusive = true,
    .work = &copies.n,
    .has_work = shmemi_has_work_always,
    .advance = poll_copies,
    .sleep_ms = sleep_ms,
    .sweep = shmemi_sweep_nothing,
};
