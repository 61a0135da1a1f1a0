/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Staging slots at their origin: claimed and freed, left with a request, or left while they are still being filled;
 * with events that complete late or fail, and a link that fails. Quiet waits for all of this and returns the error.
 */
#include "transport/staged/slots.h"

#include "bootstrap/job.h"
#include "transport/node.h"
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 4096, SLOTS = 4, PEER = 3 };

/* ---- A kind of memory whose copies complete when the test says so, and a link that remembers --------------------- */

static atomic_int event_result; /* of event_test: -EAGAIN, 0, or an error */
static atomic_int send_result, sent, last_slot, last_pe;

static int late_event_test(struct shmemi_event *event)
{
    (void)event;
    return atomic_load(&event_result);
}

static const struct shmemi_memory late_memory = {.name = "late", .event_test = late_event_test};

static int note_send(const struct shmemi_view *to, const struct shmemi_request *request)
{
    atomic_store(&last_pe, to->pe);
    atomic_store(&last_slot, request->slot);
    atomic_fetch_add(&sent, 1);
    return atomic_load(&send_result);
}

static const struct shmemi_link recorder = {.send = note_send};

static void start(void)
{
    static char staging[SLOTS * CHUNK];
    shmemi_node.header = aligned_alloc(SHMEMI_CACHE_LINE, sizeof *shmemi_node.header + sizeof(struct shmemi_control));
    CHECK(shmemi_node.header);
    memset(shmemi_node.header, 0, sizeof *shmemi_node.header + sizeof(struct shmemi_control));
    shmemi_staging = (struct shmemi_staging){.chunk = CHUNK, .slots = SLOTS, .memory = staging};
    shmemi_slots_open();
}

static unsigned leave_loading_of(const struct shmemi_transfer *put)
{
    int slot = shmemi_slot_claim(put->context);
    CHECK(slot >= 0);
    struct shmemi_event event = {.memory = &late_memory};
    struct shmemi_request request = {.slot = (uint16_t)slot, .type = SHMEMI_REQUEST_PUT, .width = 1, .rows = 1};
    shmemi_slot_leave_loading((unsigned)slot, &event, put, &request);
    return (unsigned)slot;
}

static unsigned leave_loading(struct shmemi_context *context)
{
    struct shmemi_view view = {.pe = PEER, .link = &recorder};
    const unsigned slot = leave_loading_of(&(struct shmemi_transfer){.context = context, .view = &view});
    view = (struct shmemi_view){.pe = -1}; /* the object may be unmapped before the request is sent */
    return slot;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void check_claims(void)
{
    struct shmemi_context context = {0};
    for (int i = 0; i < SLOTS; i++)
        CHECK(shmemi_slot_claim(&context) == i);
    CHECK(shmemi_slot_claim(&context) == -EAGAIN);
    shmemi_slot_free(2);
    CHECK(shmemi_slot_claim(&context) == 2);
    for (unsigned i = 0; i < SLOTS; i++)
        shmemi_slot_free(i);
    CHECK(shmemi_slots_complete(&context) == 0);
}

/* The request goes out once, when the event has completed, and not before. */
static void check_loading(void)
{
    struct shmemi_context context = {0};
    atomic_store(&event_result, -EAGAIN);
    atomic_store(&sent, 0);
    CHECK(!atomic_load(shmemi_worker_slots.work));
    unsigned slot = leave_loading(&context);
    CHECK(atomic_load(shmemi_worker_slots.work));
    CHECK(shmemi_worker_slots.advance() == 0 && atomic_load(&sent) == 0);
    atomic_store(&event_result, 0);
    CHECK(shmemi_worker_slots.advance() == 1);
    CHECK(atomic_load(&sent) == 1 && atomic_load(&last_slot) == (int)slot && atomic_load(&last_pe) == PEER);
    CHECK(!atomic_load(shmemi_worker_slots.work) && shmemi_worker_slots.advance() == 0 && atomic_load(&sent) == 1);
    shmemi_request_settle((uint16_t)slot, SHMEMI_SLOT_FREE);
    CHECK(shmemi_slots_complete(&context) == 0);
}

static void check_all_loading(void)
{
    struct shmemi_context context = {0};
    atomic_store(&event_result, -EAGAIN);
    atomic_store(&sent, 0);
    for (int i = 0; i < SLOTS; i++)
        leave_loading(&context);
    CHECK(shmemi_slot_claim(&context) == -EAGAIN);
    atomic_store(&event_result, 0);
    CHECK(shmemi_worker_slots.advance() == SLOTS && atomic_load(&sent) == SLOTS);
    for (uint16_t i = 0; i < SLOTS; i++)
        shmemi_request_settle(i, SHMEMI_SLOT_FREE);
    CHECK(shmemi_slots_complete(&context) == 0);
}

/* The quiet of its own context returns an error, once, and the slot is free afterwards. */
static void check_failure(int event, int send)
{
    struct shmemi_context context = {0}, other = {0};
    atomic_store(&event_result, event);
    atomic_store(&send_result, send);
    unsigned slot = leave_loading(&context);
    CHECK(shmemi_worker_slots.advance() == 1);
    atomic_store(&send_result, 0);
    const struct shmemi_transfer failed = {.context = &context}, of_other = {.context = &other};
    CHECK(shmemi_slots_await_filled(&of_other, 0) == 0 && shmemi_slots_complete(&other) == 0);
    CHECK(shmemi_slots_await_filled(&failed, 0) == -EIO);
    CHECK(shmemi_slots_complete(&context) == -EIO);
    CHECK(shmemi_slots_complete(&context) == 0);
    CHECK(shmemi_slot_claim(&context) == (int)slot);
    shmemi_slot_free(slot);
}

static void check_refused_by_owner(void)
{
    struct shmemi_context context = {0};
    atomic_store(&event_result, 0);
    unsigned slot = leave_loading(&context);
    CHECK(shmemi_worker_slots.advance() == 1);
    shmemi_request_settle((uint16_t)slot, SHMEMI_SLOT_FAILED);
    CHECK(shmemi_slots_complete(&context) == -EIO);
}

/* This PE has logged what failed: nobody says that the owner has. */
static void check_lost_answer(void)
{
    struct shmemi_context context = {0};
    atomic_store(&event_result, 0);
    unsigned slot = leave_loading(&context);
    CHECK(shmemi_worker_slots.advance() == 1);
    shmemi_request_settle((uint16_t)slot, SHMEMI_SLOT_FAILED_HERE);
    CHECK(shmemi_slots_await(&context) == SHMEMI_FAILED_HERE);
}

/* A blocking get waits with a context of its own: it learns where its own requests have failed, and nothing of others. */
static void check_whose_failure(void)
{
    struct shmemi_context context = {0}, get = {0};
    atomic_store(&event_result, 0);
    unsigned slot = leave_loading(&context);
    CHECK(shmemi_worker_slots.advance() == 1);
    int own = shmemi_slot_claim(&get);
    CHECK(own >= 0);
    shmemi_slot_leave((unsigned)own, NULL, NULL);
    shmemi_slot_let_go();
    shmemi_request_settle((uint16_t)slot, SHMEMI_SLOT_FAILED);
    shmemi_request_settle((uint16_t)own, SHMEMI_SLOT_DONE);
    CHECK(shmemi_slots_await(&get) == 0);
    CHECK(shmemi_slots_await(&context) == SHMEMI_FAILED_AT_OWNER);
    atomic_store(&event_result, -EIO);
    leave_loading(&context);
    CHECK(shmemi_worker_slots.advance() == 1);
    CHECK(shmemi_slots_await(&get) == 0);
    CHECK(shmemi_slots_await(&context) == SHMEMI_FAILED_HERE);
}

/* Another thread fills, sends and settles while this one waits. */
static void *make_progress(void *stop)
{
    int before = atomic_load(&sent);
    for (int turns = 0; !atomic_load((atomic_bool *)stop); turns++) {
        if (turns == 1000)
            atomic_store(&event_result, 0);
        shmemi_worker_slots.advance();
        if (atomic_load(&sent) > before) {
            before = atomic_load(&sent);
            shmemi_request_settle((uint16_t)atomic_load(&last_slot), SHMEMI_SLOT_FREE);
        }
    }
    return NULL;
}

static void check_waits(int (*wait)(const struct shmemi_transfer *put))
{
    struct shmemi_context context = {0};
    const struct shmemi_view view = {.pe = PEER, .link = &recorder};
    const struct shmemi_transfer put = {.context = &context, .view = &view, .is_blocking = true};
    atomic_bool stop = false;
    pthread_t thread;
    atomic_store(&event_result, -EAGAIN);
    int before = atomic_load(&sent);
    leave_loading_of(&put);
    CHECK(!pthread_create(&thread, NULL, make_progress, &stop));
    CHECK(wait(&put) == 0);
    CHECK(shmemi_slots_complete(&context) == 0);
    CHECK(atomic_load(&sent) == before + 1);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
}

static int await_complete(const struct shmemi_transfer *put)
{
    return shmemi_slots_complete(put->context);
}

static int await_filled(const struct shmemi_transfer *put)
{
    CHECK(shmemi_slots_await_filled(put, 1) == 0);
    int rc = shmemi_slots_await_filled(put, 0);
    CHECK(atomic_load(&event_result) == 0);
    return rc;
}

/* A blocking put waits for what is being filled for it, and not for a put that its context has left. */
static void check_other_put(void)
{
    struct shmemi_context context = {0};
    const struct shmemi_transfer put = {.context = &context, .is_blocking = true};
    atomic_store(&event_result, -EAGAIN);
    unsigned slot = leave_loading(&context);
    CHECK(shmemi_slots_await_filled(&put, 0) == 0);
    CHECK(shmemi_slots_are_loading());
    atomic_store(&event_result, 0);
    CHECK(shmemi_worker_slots.advance() == 1);
    shmemi_request_settle((uint16_t)slot, SHMEMI_SLOT_FREE);
    CHECK(shmemi_slots_complete(&context) == 0);
}

int main(void)
{
    start();
    check_claims();
    check_loading();
    check_all_loading();
    check_failure(-EIO, 0);
    check_failure(0, -ECONNRESET);
    check_refused_by_owner();
    check_lost_answer();
    check_whose_failure();
    check_waits(await_complete);
    check_waits(await_filled);
    check_other_put();
    free(shmemi_node.header);
    return 0;
}
