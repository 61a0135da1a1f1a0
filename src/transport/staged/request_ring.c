/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ring link: sending into the ring of another PE of the node, taking requests out of this PE's own, answering.
 */
#include "base/log.h"
#include "base/wake/interleave.h"
#include "bootstrap/job.h"
#include "transport/driver.h"
#include "transport/sockets/doorbell.h"
#include "transport/node.h"
#include "transport/request.h"
#include "transport/staged/owner.h"

static struct shmemi_unused *free_arrivals; /* under the service lock */

/* Takes the next entry, which its owner has emptied. While there is none, none is taken: the progress that is made
 * meanwhile may send other requests into the same ring, and these must not wait for one that is not yet written. */
static uint64_t take_entry(struct shmemi_ring *ring)
{
    unsigned spins = 0;
    uint64_t ticket = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    for (;;) {
        struct shmemi_ring_entry *entry = &ring->entry[ticket % SHMEMI_RING_ENTRIES];
        int64_t ahead = (int64_t)(atomic_load_explicit(&entry->sequence, memory_order_acquire) - ticket);
        if (ahead == 0 && atomic_compare_exchange_weak_explicit(&ring->tail, &ticket, ticket + 1, memory_order_relaxed,
                                                                memory_order_relaxed))
            return ticket;
        if (ahead < 0)
            shmemi_progress(&spins);
        if (ahead != 0) /* the ring was full, or another PE has taken this entry */
            ticket = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    }
}

static int ring_send(const struct shmemi_view *view, const struct shmemi_request *request)
{
    int rank = shmemi_job_node_rank_of(view->pe);
    struct shmemi_ring *ring = &shmemi_node_control(rank)->ring;
    uint64_t ticket = take_entry(ring);
    struct shmemi_ring_entry *entry = &ring->entry[ticket % SHMEMI_RING_ENTRIES];
    shmemi_interleave();
    entry->request = *request;
    shmemi_interleave();
    atomic_store_explicit(&entry->sequence, ticket + 1, memory_order_release);
    shmemi_node_wake(rank);
    return 0;
}

/* The node's PEs add by their CPUs, as the owner does. */
static bool ring_owner_adds(const struct shmemi_view *word)
{
    (void)word;
    return true;
}

static size_t ring_longest_put(int pe)
{
    (void)pe;
    return SIZE_MAX;
}

const struct shmemi_link shmemi_link_ring = {
    .in_node = true, .owner_adds = ring_owner_adds, .send = ring_send, .longest_put = ring_longest_put};

static struct shmemi_ring *my_ring(void)
{
    return &shmemi_node_control(shmemi_job.node_rank)->ring;
}

/* Answer in the origin's control block: by a slot's new state, or by counting one more completed request of the set. */
static void ring_settle(struct shmemi_arrival *arrival, int status)
{
    const struct shmemi_request *request = &arrival->request;
    struct shmemi_control *control = shmemi_node_control(shmemi_job_node_rank_of((int)request->origin));
    if (shmemi_is_slotless(request->slot)) {
        if (status)
            atomic_store_explicit(&control->slotless_failed, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&control->slotless_settled[shmemi_slotless_set(request->slot)], 1,
                                  memory_order_release);
    } else {
        uint32_t success = shmemi_request_is_put(request->type) ? SHMEMI_SLOT_FREE : SHMEMI_SLOT_DONE;
        atomic_store_explicit(&control->slot_state[request->slot], status ? SHMEMI_SLOT_FAILED : success,
                              memory_order_release);
    }
    shmemi_unused_give(&free_arrivals, arrival);
}

static void *payload_of(struct shmemi_arrival *arrival)
{
    const struct shmemi_request *request = &arrival->request;
    if (shmemi_is_slotless(request->slot))
        return arrival->request.u.data;
    int rank = shmemi_job_node_rank_of((int)request->origin);
    return shmemi_node_staging(rank) + request->slot * shmemi_staging.chunk;
}

static bool is_of_this_node(const struct shmemi_request *request)
{
    return request->origin < (uint32_t)shmemi_job.n_pes && shmemi_job_node_rank_of((int)request->origin) >= 0;
}

static void receive(const struct shmemi_request *request)
{
    if (shmemi_request_check(request) || !is_of_this_node(request)) {
        shmemi_error("dropped a damaged request in the node's shared memory");
        return;
    }
    struct shmemi_arrival *arrival = shmemi_unused_take(&free_arrivals, sizeof *arrival, "a request");
    arrival->request = *request;
    arrival->settle = ring_settle;
    arrival->link = NULL;
    arrival->is_followed = false; /* the ring tells (shmemi_ring_has_work) */
    arrival->payload = payload_of(arrival);
    shmemi_arrival_accept(arrival);
}

bool shmemi_ring_has_work(void)
{
    const struct shmemi_ring *ring = my_ring();
    uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_RELAXED);
    const struct shmemi_ring_entry *entry = &ring->entry[head % SHMEMI_RING_ENTRIES];
    return atomic_load_explicit(&entry->sequence, memory_order_acquire) == head + 1;
}

static unsigned drain(void)
{
    struct shmemi_ring *ring = my_ring();
    unsigned done = 0;
    while (done < SHMEMI_RING_ENTRIES && shmemi_arrivals_have_room() && shmemi_ring_has_work()) {
        struct shmemi_ring_entry *entry = &ring->entry[ring->head % SHMEMI_RING_ENTRIES];
        struct shmemi_request request = entry->request; /* a copy to check, which the producer cannot change */
        uint64_t next_ticket = ring->head + SHMEMI_RING_ENTRIES;
        __atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELAXED);
        shmemi_interleave();
        atomic_store_explicit(&entry->sequence, next_ticket, memory_order_release);
        receive(&request);
        done++;
    }
    return done;
}

void shmemi_ring_close(void)
{
    shmemi_unused_free(&free_arrivals);
}

/* ---- The worker -------------------------------------------------------------------------------------------------- */

static bool has_requests(enum shmemi_turn turn)
{
    (void)turn;
    return shmemi_ring_has_work();
}

static int sleep_ms(void)
{
    return shmemi_ring_has_work() ? 0 : -1;
}

const struct shmemi_worker shmemi_worker_ring = {
    .name = "requests of the node",
    .is_exclusive = true,
    .work = &shmemi_work_is_unknown,
    .has_work = has_requests,
    .advance = drain,
    .sleep_ms = sleep_ms,
    .sweep = shmemi_sweep_nothing,
};
