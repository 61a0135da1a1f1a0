/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slots of streams in which kernels wait for words: as many as there are, and given back when waits are over, also those
 * of streams that are gone. The driver is made up: an event is complete when the test says that its stream is done.
 */
#include "gpu/device/gpu_context.h"
#include "unit.h"

#include <string.h>

enum { STREAMS = 4 * SHMEMI_WAIT_SLOTS };

static struct shmemi_gpu_context context;
static bool is_done[STREAMS];
static size_t stream_of[STREAMS]; /* by event */
static size_t n_events, n_records, n_queries;

static int create(void **event_p, unsigned flags)
{
    (void)flags;
    *event_p = (void *)++n_events;
    return 0;
}

static int record(void *event, void *stream)
{
    n_records++;
    stream_of[(size_t)event] = (size_t)stream;
    return 0;
}

static int query(void *event)
{
    n_queries++;
    return !is_done[stream_of[(size_t)event]];
}

static struct shmemi_stream stream(size_t number)
{
    return (struct shmemi_stream){.handle = (void *)number, .object = &context};
}

static bool waits_by_kernel(size_t number)
{
    const struct shmemi_stream here = stream(number);
    struct shmemi_wait_slot *slot = shmemi_wait_slot_take(&here);
    if (slot)
        shmemi_wait_slot_leave(&here, slot);
    return slot != NULL;
}

static unsigned count_slots(size_t first, size_t n)
{
    unsigned found = 0;
    for (size_t i = 0; i < n; i++)
        found += waits_by_kernel(first + i);
    return found;
}

/* While all wait, the first ones have the slots, and have them again. */
static void check_all_wait(void)
{
    CHECK(count_slots(1, SHMEMI_WAIT_SLOTS + 8) == SHMEMI_WAIT_SLOTS);
    CHECK(count_slots(1, SHMEMI_WAIT_SLOTS) == SHMEMI_WAIT_SLOTS);
    CHECK(count_slots(SHMEMI_WAIT_SLOTS + 1, SHMEMI_WAIT_SLOTS) == 0);
}

/* The waits of one stream are over: somebody else has its slot, once, and it has none. */
static void check_one_is_over(void)
{
    const size_t over = SHMEMI_WAIT_SLOTS - 2, other = SHMEMI_WAIT_SLOTS + 3;
    is_done[over] = true;
    unsigned tries = 0;
    while (!waits_by_kernel(other))
        CHECK(++tries <= SHMEMI_WAIT_SLOTS);
    CHECK(waits_by_kernel(other));
    CHECK(count_slots(STREAMS / 2, SHMEMI_WAIT_SLOTS) == 0 && !waits_by_kernel(over));
}

/* A slot whose stream gets another wait right now is not given away. */
static void check_in_use(void)
{
    const size_t user = SHMEMI_WAIT_SLOTS - 1;
    const struct shmemi_stream here = stream(user);
    struct shmemi_wait_slot *slot = shmemi_wait_slot_take(&here);
    CHECK(slot);
    is_done[user] = true; /* what was there before */
    CHECK(count_slots(STREAMS / 2, SHMEMI_WAIT_SLOTS) == 0);
    is_done[user] = false;
    shmemi_wait_slot_leave(&here, slot);
    CHECK(count_slots(STREAMS / 2, SHMEMI_WAIT_SLOTS) == 0);
}

/* A few streams cost no events. */
static void check_free(void)
{
    shmemi_wait_slots_free(&context);
    n_records = n_queries = 0;
    memset(is_done, 0, sizeof is_done);
    CHECK(count_slots(1, SHMEMI_WAIT_SLOTS / 2) == SHMEMI_WAIT_SLOTS / 2 && !n_records && !n_queries);
    CHECK(count_slots(1, SHMEMI_WAIT_SLOTS) == SHMEMI_WAIT_SLOTS && n_records);
    CHECK(n_events <= SHMEMI_WAIT_SLOTS);
}

int main(void)
{
    CHECK(!pthread_mutex_init(&context.lock, NULL));
    shmemi_gpu.event_create = create;
    shmemi_gpu.event_record = record;
    shmemi_gpu.event_query = query;
    check_all_wait();
    check_one_is_over();
    check_in_use();
    check_free();
    return 0;
}
