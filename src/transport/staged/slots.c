/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The origin's staging slots: claiming them, leaving them with their requests, filling and sending them, waiting.
 */
#include "transport/staged/slots.h"

#include "base/log.h"
#include "base/wake/interleave.h"
#include "bootstrap/job.h"
#include "transport/node.h"
#include "transport/staged/slotless.h"
#include "transport/staged/staged.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

enum custody {
    HELD,    /* by the thread that has claimed it */
    LOADING, /* left with its request, which is sent when the event is complete */
    LEFT,    /* left with its request, which has been or is being sent */
    TAKEN,   /* by a thread that starts to copy the answer to its destination, or frees the slot */
    LANDING, /* the answer is being copied to its destination: the event tells when it is there */
};

struct slot {
    struct shmemi_context *context; /* of the last operation; dereferenced only while the slot is not free */
    uint64_t uses;                  /* how often it was claimed */
    enum custody custody;
    struct shmemi_place dest; /* of the answer; dest.memory is NULL when none is expected */
    struct shmemi_shape shape;
    struct shmemi_event event; /* LOADING and LANDING */
    /* LOADING: */
    const struct shmemi_transfer *put; /* of a thread that waits; not dereferenced; NULL: none waits */
    struct shmemi_request request;
    struct shmemi_view view; /* what links use of it: the object may be unmapped before the request is sent */
};

/* Whether a slot is free is its state in the control block. Only this process changes a slot that is FREE, DONE or
 * FAILED; it does so under this lock. */
static struct {
    pthread_mutex_t lock;
    struct slot slot[SHMEMI_STAGING_SLOTS_MAX];
    atomic_uint loading; /* number of LOADING slots; atomic: read without the lock */
} origin = {.lock = PTHREAD_MUTEX_INITIALIZER};

void shmemi_slots_open(void)
{
    memset(origin.slot, 0, sizeof origin.slot);
    shmemi_slotless_open();
    atomic_store(&origin.loading, 0);
}

static struct shmemi_control *my_control(void)
{
    return shmemi_node_control(shmemi_job.node_rank);
}

static uint32_t state_of(unsigned slot)
{
    return atomic_load_explicit(&my_control()->slot_state[slot], memory_order_acquire);
}

static void set_state(unsigned slot, enum shmemi_slot_state state)
{
    atomic_store_explicit(&my_control()->slot_state[slot], state, memory_order_release);
}

void shmemi_request_settle(uint16_t slot, enum shmemi_slot_state state)
{
    if (shmemi_is_slotless(slot))
        shmemi_slotless_settle(slot, state >= SHMEMI_SLOT_FAILED);
    else
        set_state(slot, state);
}

/* ---- Finished requests ------------------------------------------------------------------------------------------- */

/* With the lock held. */
static bool is_finished(unsigned slot)
{
    return origin.slot[slot].custody == LEFT && state_of(slot) >= SHMEMI_SLOT_DONE;
}

/* The slot is TAKEN; its context cannot go away, since quiet or the get waits for the slot. failed: where, 0: nowhere. */
static void end_use(unsigned slot, unsigned failed)
{
    shmemi_interleave();
    if (failed)
        atomic_fetch_or_explicit(&origin.slot[slot].context->requests_failed, failed, memory_order_relaxed);
    shmemi_slot_free(slot);
}

static void set_custody(unsigned slot, enum custody custody)
{
    shmemi_interleave();
    pthread_mutex_lock(&origin.lock);
    origin.slot[slot].custody = custody;
    pthread_mutex_unlock(&origin.lock);
}

/* Start to copy the answer to its destination. The slot is TAKEN. */
static void take_answer(unsigned slot)
{
    struct slot *mine = &origin.slot[slot];
    struct shmemi_place staging = shmemi_place_host(shmemi_staging_slot(slot));
    const uint32_t state = state_of(slot);
    if (state != SHMEMI_SLOT_DONE || !mine->dest.memory) {
        end_use(slot, state == SHMEMI_SLOT_DONE     ? 0
                      : state == SHMEMI_SLOT_FAILED ? SHMEMI_FAILED_AT_OWNER
                                                    : SHMEMI_FAILED_HERE);
        return;
    }
    if (mine->dest.memory->copy_start(&mine->dest, &staging, &mine->shape, &mine->event))
        end_use(slot, SHMEMI_FAILED_HERE);
    else
        set_custody(slot, LANDING);
}

/* Is the request finished? Then begin with its answer. */
static bool try_take(unsigned slot)
{
    pthread_mutex_lock(&origin.lock);
    bool finished = is_finished(slot);
    if (finished)
        origin.slot[slot].custody = TAKEN;
    pthread_mutex_unlock(&origin.lock);
    shmemi_interleave();
    if (finished)
        take_answer(slot);
    return finished;
}

/* Has the answer been copied to its destination? Then free the slot. */
static bool try_end(unsigned slot)
{
    struct slot *mine = &origin.slot[slot];
    pthread_mutex_lock(&origin.lock);
    bool is_landing = mine->custody == LANDING && state_of(slot) != SHMEMI_SLOT_FREE;
    int rc = is_landing ? mine->event.memory->event_test(&mine->event) : -EAGAIN;
    if (rc != -EAGAIN)
        mine->custody = TAKEN;
    pthread_mutex_unlock(&origin.lock);
    if (rc != -EAGAIN)
        end_use(slot, rc ? SHMEMI_FAILED_HERE : 0);
    return rc != -EAGAIN;
}

/* Copies are started before any is waited for. Returns whether there was anything to do. */
static bool take_and_end_all(void)
{
    bool found = false;
    for (unsigned i = 0; i < shmemi_staging.slots; i++)
        found |= try_take(i);
    for (unsigned i = 0; i < shmemi_staging.slots; i++)
        found |= try_end(i);
    return found;
}

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

/* Slots that this thread holds, or whose request it is sending. While there are some it must not wait for another one on
 * behalf of what it meets on its way: nobody else would free these. */
static _Thread_local unsigned in_hand;

bool shmemi_slots_are_in_hand(void)
{
    return in_hand > 0;
}

void shmemi_slot_let_go(void)
{
    in_hand--;
}

static int find_free(struct shmemi_context *context)
{
    int found = -EAGAIN;
    pthread_mutex_lock(&origin.lock);
    for (unsigned i = 0; i < shmemi_staging.slots && found < 0; i++) {
        if (state_of(i) != SHMEMI_SLOT_FREE)
            continue;
        struct slot *slot = &origin.slot[i];
        *slot = (struct slot){.context = context, .uses = slot->uses + 1, .custody = HELD};
        set_state(i, SHMEMI_SLOT_BUSY);
        found = (int)i;
        in_hand++;
    }
    pthread_mutex_unlock(&origin.lock);
    return found;
}

int shmemi_slot_claim(struct shmemi_context *context)
{
    int slot = find_free(context);
    if (slot >= 0)
        return slot;
    take_and_end_all();
    return find_free(context);
}

void shmemi_slot_free(unsigned slot)
{
    if (origin.slot[slot].custody == HELD)
        shmemi_slot_let_go();
    set_state(slot, SHMEMI_SLOT_FREE);
}

int shmemi_slot_wait(const struct shmemi_view *view, unsigned slot)
{
    unsigned spins = 0;
    uint32_t state;
    while ((state = state_of(slot)) == SHMEMI_SLOT_BUSY)
        shmemi_progress(&spins);
    if (state < SHMEMI_SLOT_FAILED)
        return 0;
    if (state == SHMEMI_SLOT_FAILED)
        shmemi_staged_report(view);
    shmemi_slot_free(slot);
    return -EIO;
}

void shmemi_slot_leave(unsigned slot, const struct shmemi_place *dest, const struct shmemi_shape *shape)
{
    pthread_mutex_lock(&origin.lock);
    struct slot *mine = &origin.slot[slot];
    if (dest) {
        mine->dest = *dest;
        mine->shape = *shape;
    }
    mine->custody = LEFT;
    pthread_mutex_unlock(&origin.lock);
}

/* ---- Slots that are being filled --------------------------------------------------------------------------------- */

void shmemi_slot_leave_loading(unsigned slot, const struct shmemi_event *event, const struct shmemi_transfer *put,
                               const struct shmemi_request *request)
{
    pthread_mutex_lock(&origin.lock);
    struct slot *mine = &origin.slot[slot];
    mine->event = *event;
    mine->put = put->is_blocking ? put : NULL;
    mine->request = *request;
    mine->view = (struct shmemi_view){.pe = put->view->pe, .link = put->view->link, .data = put->view->data};
    mine->custody = LOADING;
    atomic_fetch_add_explicit(&origin.loading, 1, memory_order_relaxed);
    pthread_mutex_unlock(&origin.lock);
    shmemi_slot_let_go();
}

bool shmemi_slots_are_loading(void)
{
    return atomic_load_explicit(&origin.loading, memory_order_relaxed);
}

/* Has the slot been filled? Then it becomes LEFT, and *rc_p is the result of the copy. */
static bool is_filled(unsigned slot, int *rc_p)
{
    struct slot *mine = &origin.slot[slot];
    pthread_mutex_lock(&origin.lock);
    bool was_loading = mine->custody == LOADING && state_of(slot) == SHMEMI_SLOT_BUSY;
    int rc = was_loading ? mine->event.memory->event_test(&mine->event) : -EAGAIN;
    if (rc != -EAGAIN) {
        mine->custody = LEFT;
        atomic_fetch_sub_explicit(&origin.loading, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&origin.lock);
    shmemi_interleave();
    *rc_p = rc;
    return rc != -EAGAIN;
}

static void send_filled(unsigned slot, int rc)
{
    struct slot *mine = &origin.slot[slot];
    /* Once the request is sent, the slot may be another's. */
    struct shmemi_context *context = mine->context;
    const struct shmemi_request request = mine->request;
    const struct shmemi_view view = mine->view;
    in_hand++;
    if (!rc)
        rc = view.link->send(&view, &request);
    in_hand--;
    if (!rc)
        return;
    atomic_fetch_or_explicit(&context->requests_failed, SHMEMI_FAILED_HERE, memory_order_relaxed);
    shmemi_slot_free(slot);
}

static unsigned send_all_filled(void)
{
    unsigned sent = 0;
    int rc;
    for (unsigned slot = 0; slot < shmemi_staging.slots; slot++)
        if (is_filled(slot, &rc)) {
            send_filled(slot, rc);
            sent++;
        }
    return sent;
}

static unsigned n_loading(const struct shmemi_transfer *put)
{
    unsigned n = 0;
    pthread_mutex_lock(&origin.lock);
    for (unsigned i = 0; i < shmemi_staging.slots; i++)
        n += origin.slot[i].custody == LOADING && origin.slot[i].put == put;
    pthread_mutex_unlock(&origin.lock);
    return n;
}

int shmemi_slots_await_filled(const struct shmemi_transfer *put, unsigned most)
{
    unsigned spins = 0;
    while (n_loading(put) > most)
        shmemi_progress(&spins);
    return atomic_load_explicit(&put->context->requests_failed, memory_order_relaxed) & SHMEMI_FAILED_HERE ? -EIO : 0;
}

/* Nothing wakes the service thread when a slot is filled: it has to poll. */
static int sleep_ms(void)
{
    return shmemi_slots_are_loading() ? 0 : -1;
}

const struct shmemi_worker shmemi_worker_slots = {
    .name = "slots that are being filled",
    .work = &origin.loading,
    .has_work = shmemi_has_work_always,
    .advance = send_all_filled,
    .sleep_ms = sleep_ms,
    .sweep = shmemi_sweep_nothing,
};

/* ---- Quiet ------------------------------------------------------------------------------------------------------- */

/* Is the slot in use for an operation of this context, which no thread holds? With the lock held. */
static bool is_left(unsigned slot, const struct shmemi_context *context)
{
    return origin.slot[slot].context == context && origin.slot[slot].custody != HELD &&
           state_of(slot) != SHMEMI_SLOT_FREE;
}

/* uses[slot] = number of uses of each slot that is left on the context and not yet free, 0 for the others. */
static void note_pending(const struct shmemi_context *context, uint64_t *uses)
{
    pthread_mutex_lock(&origin.lock);
    for (unsigned i = 0; i < shmemi_staging.slots; i++)
        uses[i] = is_left(i, context) ? origin.slot[i].uses : 0;
    pthread_mutex_unlock(&origin.lock);
}

static bool is_over(unsigned slot, uint64_t use)
{
    pthread_mutex_lock(&origin.lock);
    bool is_over = origin.slot[slot].uses != use || state_of(slot) == SHMEMI_SLOT_FREE;
    pthread_mutex_unlock(&origin.lock);
    return is_over;
}

/* Which requests will still access local memory of the context's transfers? */
int shmemi_slots_poll(struct shmemi_context *context)
{
    int rc = 0;
    take_and_end_all();
    pthread_mutex_lock(&origin.lock);
    for (unsigned i = 0; i < shmemi_staging.slots; i++)
        if (is_left(i, context) && (origin.slot[i].custody == LOADING || origin.slot[i].dest.memory))
            rc = -EAGAIN;
    pthread_mutex_unlock(&origin.lock);
    return rc;
}

unsigned shmemi_slots_await(struct shmemi_context *context)
{
    uint64_t uses[SHMEMI_STAGING_SLOTS_MAX];
    note_pending(context, uses);
    shmemi_interleave();
    for (unsigned slot = 0; slot < shmemi_staging.slots; slot++) {
        unsigned spins = 0;
        while (uses[slot] && !is_over(slot, uses[slot])) {
            if (take_and_end_all())
                spins = 0;
            shmemi_progress(&spins); /* in each turn, since that may be what moves the bytes */
        }
    }
    const bool has_failed = atomic_load_explicit(&context->requests_failed, memory_order_relaxed);
    return has_failed ? atomic_exchange_explicit(&context->requests_failed, 0, memory_order_relaxed) : 0;
}

int shmemi_slots_complete(struct shmemi_context *context)
{
    const unsigned failed = shmemi_slots_await(context);
    const int slotless = shmemi_slotless_complete();
    if (failed & SHMEMI_FAILED_AT_OWNER || slotless)
        shmemi_error("a transfer through staging failed; its target PE has said why");
    return failed ? -EIO : slotless;
}
