/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests from their origin to the owner's service thread and back: ring, doorbell, the thread's sleep, staging slots,
 * arrivals, batches, bursts that are held back. A PE that is alone asks itself: its threads put, get and update an object
 * of a made-up GPU whose copies end late, and the service thread serves them. Each thread has a part of the object and a
 * model of it, and all count in common words.
 */
#include "transport/staged/slots.h"

#include "base/settings.h"
#include "base/wake/interleave.h"
#include "bootstrap/job.h"
#include "tests/interleave/seeded.h"
#include "tests/unit/unit.h"
#include "transport/collect/hold_back.h"
#include "transport/sockets/doorbell.h"
#include "transport/sockets/sockets.h"
#include "transport/drivers/table.h"
#include "transport/node.h"
#include "transport/service.h"
#include "transport/collect/held.h"
#include "transport/staged/owner.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 16384, SLOTS = 3, THREADS = 3, PART = 64 << 10, STEPS = 24, REGION = 7, WORDS = 4 };

static _Alignas(64) char object[THREADS * PART + WORDS * sizeof(uint64_t)];
static int node_pe[1];
static const struct shmemi_memory late;

/* ---- The GPU: copies take place when they are found complete ----------------------------------------------------- */

struct late_copy {
    struct shmemi_place dest, source;
    struct shmemi_shape shape;
    unsigned looks; /* until it is complete */
};

static int copy(const struct shmemi_place *dest, const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    CHECK(!shape->layer);
    for (size_t row = 0; row < shape->rows; row++) {
        shmemi_interleave();
        memcpy((char *)dest->address + row * shape->dest_pitch,
               (const char *)source->address + row * shape->source_pitch, shape->width);
    }
    return 0;
}

static int copy_start(const struct shmemi_place *dest, const struct shmemi_place *source,
                      const struct shmemi_shape *shape, struct shmemi_event *event_p)
{
    struct late_copy *copied = malloc(sizeof *copied);
    CHECK(copied);
    *copied = (struct late_copy){*dest, *source, *shape, seeded_number(4)};
    *event_p = (struct shmemi_event){.memory = &late, .handle = copied};
    return 0;
}

static int event_test(struct shmemi_event *event)
{
    struct late_copy *copied = event->handle;
    if (copied->looks && copied->looks--)
        return -EAGAIN;
    copy(&copied->dest, &copied->source, &copied->shape);
    free(copied);
    return 0;
}

static int event_wait(struct shmemi_event *event)
{
    while (event_test(event))
        continue;
    return 0;
}

static int has_no_agent(const struct shmemi_place *word, const struct shmemi_amo *amo, uint64_t *old_p)
{
    (void)word, (void)amo, (void)old_p;
    return -ENOTSUP;
}

static const struct shmemi_memory late = {.name = "late",
                                          .copy = copy,
                                          .copy_start = copy_start,
                                          .event_test = event_test,
                                          .event_wait = event_wait,
                                          .amo = has_no_agent};

static int resolve(uint32_t region, uint64_t offset, uint64_t nbytes, struct shmemi_place *place_p)
{
    CHECK(region == REGION && offset <= sizeof object && nbytes <= sizeof object - offset);
    *place_p = (struct shmemi_place){.memory = &late, .object = object, .address = (uintptr_t)object + offset};
    return 0;
}

static void release(void)
{
}

/* ---- A PE and its service thread --------------------------------------------------------------------------------- */

static const struct shmemi_resolver resolver = {resolve, release};
static const struct shmemi_worker *const workers[] = {&shmemi_worker_held, &shmemi_worker_slots, &shmemi_worker_ring,
                                                      &shmemi_worker_arrivals};

static void open_pe(void)
{
    static char staging[SLOTS * CHUNK];
    const size_t size = sizeof *shmemi_node.header + sizeof(struct shmemi_control) + SHMEMI_RECORD_BYTES;
    shmemi_job =
        (struct shmemi_job){.n_pes = 1, .n_nodes = 1, .node_n_pes = 1, .node_pes = node_pe, .key = {{0x1234, 0x5678}}};
    shmemi_job.leaders = shmemi_job.node_of = shmemi_job.host_of = node_pe;
    CHECK(!shmemi_job_index_node());
    shmemi_node.header = aligned_alloc(SHMEMI_CACHE_LINE, (size + 63) / 64 * 64);
    CHECK(shmemi_node.header);
    memset(shmemi_node.header, 0, size);
    shmemi_node.staging_offset = (size_t)((char *)staging - (char *)shmemi_node.header);
    shmemi_staging = (struct shmemi_staging){.chunk = CHUNK, .slots = SLOTS, .memory = staging};
    for (uint64_t i = 0; i < SHMEMI_RING_ENTRIES; i++)
        shmemi_node_control(0)->ring.entry[i].sequence = i;
    shmemi_node.doorbell = shmemi_socket_open_to_node(SOCK_DGRAM, &shmemi_node_control(0)->doorbell);
    CHECK(shmemi_node.doorbell >= 0);
    shmemi_slots_open();
    shmemi_arrivals_open(&resolver);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static const struct shmemi_view view = {.driver = &shmemi_driver_staged,
                                        .place = {.memory = &late},
                                        .link = &shmemi_link_ring,
                                        .size = sizeof object,
                                        .region = REGION};
static atomic_ullong added[WORDS];

struct actor {
    pthread_t thread;
    unsigned number;
    bool leaves_requests, has_bursts;
    struct shmemi_context context;
    char model[PART], buffer[PART];
};

static void check(int rc)
{
    CHECK(!rc);
}

static void quiet(struct actor *actor)
{
    check(shmemi_drivers_quiet(&actor->context));
    CHECK(!memcmp(actor->model, object + actor->number * PART, PART));
}

static int transfer(struct actor *actor, size_t offset, char *mine, size_t nbytes, bool is_put, bool is_blocking)
{
    return view.driver->transfer(&(struct shmemi_transfer){.context = &actor->context,
                                                           .view = &view,
                                                           .offset = actor->number * PART + offset,
                                                           .mine = shmemi_place_host(mine),
                                                           .shape = shmemi_shape_linear(nbytes),
                                                           .is_put = is_put,
                                                           .is_blocking = is_blocking});
}

/* A put of any form. The buffer has what the model has, so that puts under way may read it later. */
static void put(struct actor *actor, size_t offset, size_t nbytes, bool is_nbi)
{
    for (size_t i = 0; i < nbytes; i++)
        actor->model[offset + i] = actor->buffer[offset + i] = (char)seeded_number(256);
    check(transfer(actor, offset, actor->buffer + offset, nbytes, true, !is_nbi));
}

/* A burst of small ones, which are held back where they can be: by runs or in a batch. */
static void put_burst(struct actor *actor, size_t offset)
{
    const size_t step = 8 + 8 * seeded_number(3), n = 4 + seeded_number(30);
    const bool in_batch = seeded_number(2);
    for (size_t i = 0; i < n; i++) {
        const size_t at = offset + i * step;
        const struct shmemi_transfer put = {
            .context = &actor->context,
            .view = &view,
            .offset = actor->number * PART + at,
            .mine = {in_batch ? &shmemi_memory_host : &late, NULL, (uintptr_t)actor->buffer + at},
            .shape = shmemi_shape_linear(8),
            .is_put = true,
        };
        for (size_t k = 0; k < 8; k++)
            actor->model[at + k] = actor->buffer[at + k] = (char)seeded_number(256);
        int rc = shmemi_hold_back(&put);
        CHECK(!rc || rc == -EAGAIN);
        if (rc)
            check(view.driver->transfer(&put));
    }
}

static void get(struct actor *actor, size_t offset, size_t nbytes)
{
    char copy[PART];
    check(shmemi_drivers_quiet(&actor->context)); /* a get may overtake a put */
    check(transfer(actor, offset, copy, nbytes, false, true));
    CHECK(!memcmp(copy, actor->model + offset, nbytes));
}

static void update(struct actor *actor)
{
    const unsigned word = seeded_number(WORDS);
    const struct shmemi_word_update add = {&view,
                                           THREADS * PART + word * sizeof(uint64_t),
                                           {.op = SHMEMI_AMO_ADD, .size = 8, .operand = 1 + seeded_number(9)}};
    uint64_t old;
    atomic_fetch_add(&added[word], add.amo.operand);
    check(view.driver->amo(&actor->context, &add, seeded_number(2) ? &old : NULL, true));
}

static void step(struct actor *actor)
{
    static const size_t most[] = {8, 48, 300, CHUNK, PART / 2};
    const size_t nbytes = 1 + seeded_number((unsigned)most[seeded_number(5)]), offset = seeded_number(PART / 2);
    switch (seeded_number(8)) {
    case 0:
    case 1:
        check(shmemi_drivers_quiet(&actor->context)); /* puts to one place have no order among themselves */
        put(actor, offset, nbytes, seeded_number(2));
        break;
    case 2:
    case 3:
        check(shmemi_drivers_quiet(&actor->context));
        if (actor->has_bursts)
            put_burst(actor, offset / 8 * 8);
        else
            update(actor);
        break;
    case 4:
        get(actor, offset, nbytes);
        break;
    case 5:
        usleep(seeded_number(3000)); /* the service thread falls asleep, or lets bursts leave */
        break;
    case 6:
        quiet(actor);
        break;
    default:
        update(actor);
    }
}

static void *act(void *argument)
{
    struct actor *actor = argument;
    shmemi_progress_leave_requests(actor->leaves_requests);
    for (int i = 0; i < STEPS; i++)
        step(actor);
    quiet(actor);
    shmemi_collect_close(&actor->context);
    return NULL;
}

/* What one thread loses another may bring on: the fewer threads there are, the more is seen. In some rounds nobody helps
 * the service thread, and in some nothing is held back, for which it would wake up by itself. */
static void round_of_requests(unsigned seed)
{
    const unsigned n_actors = 1 + seed % THREADS;
    static struct actor actors[THREADS];
    memset(object, 0, sizeof object);
    shmemi_progress_use(workers, sizeof workers / sizeof workers[0]);
    CHECK(!shmemi_service_start());
    for (unsigned i = 0; i < n_actors; i++) {
        memset(&actors[i], 0, sizeof actors[i]);
        actors[i].number = i;
        actors[i].leaves_requests = seed / 3 % 2 || i;
        actors[i].has_bursts = seed / 6 % 2;
        actors[i].context.may_gather = true;
        CHECK(!pthread_create(&actors[i].thread, NULL, act, &actors[i]));
    }
    for (unsigned i = 0; i < n_actors; i++)
        pthread_join(actors[i].thread, NULL);
    shmemi_service_stop();
    shmemi_progress_use(NULL, 0);
    for (unsigned i = 0; i < WORDS; i++) {
        uint64_t word;
        memcpy(&word, object + THREADS * PART + i * sizeof word, sizeof word);
        CHECK(word == atomic_exchange(&added[i], 0));
    }
}

int main(int argc, char **argv)
{
    open_pe();
    return seeded_main(argc, argv, round_of_requests);
}
