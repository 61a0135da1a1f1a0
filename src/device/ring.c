/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rings, and the thread that serves them. It polls: a kernel cannot wake it.
 */
#define _GNU_SOURCE
#include "device/ring.h"

#include "base/log.h"
#include "base/thread/cores.h"
#include "base/thread/patience.h"
#include "base/thread/thread_start.h"
#include "base/wake/interleave.h"
#include "base/tuning.h"
#include "gpu/thread_cores.h"
#include "instrument/measure.h"
#include "transport/drivers/table.h"
#include "transport/progress.h"
#include "transport/threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct shmemi_device_entry) == 64, "kernels have entries of 64 bytes");

static pthread_t thread;
static atomic_bool runs;
_Atomic(struct shmemi_device_agent *) shmemi_device_served; /* newest first; none is removed before the end */

/* ---- The thread -------------------------------------------------------------------------------------------------- */

static struct shmemi_device_entry *entry_at(const struct shmemi_device_agent *agent, uint64_t ticket)
{
    return &agent->entries[ticket % SHMEMI_DEVICE_ENTRIES];
}

static uint64_t sequence_of(const struct shmemi_device_entry *entry)
{
    return __atomic_load_n(&entry->sequence, __ATOMIC_ACQUIRE);
}

/* Has the entry of a ticket been written? */
static bool is_written(const struct shmemi_device_agent *agent, uint64_t ticket)
{
    return ticket - agent->freed < SHMEMI_DEVICE_ENTRIES && sequence_of(entry_at(agent, ticket)) == ticket + 1;
}

static void execute(struct shmemi_device_agent *agent, struct shmemi_device_entry *entry, char *slot)
{
    if (shmemi_device_execute(agent, entry, slot))
        shmemi_fatal("an operation of a kernel has failed");
}

static char *slot_at(const struct shmemi_device_agent *agent, uint64_t ticket)
{
    return agent->slots + ticket % SHMEMI_DEVICE_ENTRIES * SHMEMI_DEVICE_SLOT_BYTES;
}

/* Let kernels use entries again: those that have been taken out of the ring, and those whose operation is complete and
 * whose reply has been read. */
static bool free_entries(struct shmemi_device_agent *agent)
{
    const uint64_t before = agent->freed;
    while (agent->freed < agent->issued) {
        const struct shmemi_device_entry *entry = entry_at(agent, agent->freed);
        const bool is_taken = agent->is_taken[agent->freed % SHMEMI_DEVICE_ENTRIES];
        if (!is_taken && (agent->freed >= agent->done || (entry->what & SHMEMI_DEVICE_REPLY && sequence_of(entry))))
            break;
        agent->freed++;
    }
    shmemi_interleave();
    if (agent->freed != before)
        __atomic_store_n(&agent->progress->freed, agent->freed, __ATOMIC_RELEASE);
    return agent->freed != before;
}

static void measure(const struct shmemi_device_entry *entry, enum shmemi_from_kernel what, uint64_t begin)
{
    const bool is_signal = what == SHMEMI_KERNEL_SIGNAL;
    shmemi_measure_from_kernel(what, &(struct shmemi_trace_transfer){
                                         .pe = entry->pe,
                                         .region = is_signal ? entry->signal_region : entry->region,
                                         .offset = is_signal ? entry->extra : entry->offset,
                                         .nbytes = is_signal ? sizeof entry->value : entry->nbytes,
                                         .begin = begin,
                                     });
}

/* ---- Small puts: they come in great numbers, and in no order ------------------------------------------------------ */

static bool is_small_put(const struct shmemi_device_entry *entry)
{
    const unsigned signals = SHMEMI_DEVICE_SIGNAL | SHMEMI_DEVICE_ADD;
    if ((entry->what & SHMEMI_DEVICE_KINDS) != SHMEMI_DEVICE_PUT || entry->what & signals || entry->local)
        return false;
    return entry->what & SHMEMI_DEVICE_LIST
               ? entry->extra <= SHMEMI_DEVICE_LIST_MOST && entry->nbytes <= sizeof entry->value
               : entry->nbytes <= SHMEMI_DEVICE_SMALL_BYTES;
}

static int by_place(const void *a, const void *b)
{
    const struct shmemi_device_entry *x = &(*(struct shmemi_device_small *const *)a)->entry;
    const struct shmemi_device_entry *y = &(*(struct shmemi_device_small *const *)b)->entry;
    if (x->pe != y->pe)
        return x->pe < y->pe ? -1 : 1;
    if (x->region != y->region)
        return x->region < y->region ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* May one more operation start before those that have been started are complete? */
static bool has_next(const struct shmemi_device_agent *agent)
{
    const bool has_room = agent->issued - agent->done < SHMEMI_DEVICE_ENTRIES &&
                          agent->n_small + SHMEMI_DEVICE_LIST_MOST <= SHMEMI_DEVICE_SMALL_MOST;
    return has_room && is_written(agent, agent->issued);
}

static struct shmemi_device_small *add_small(struct shmemi_device_agent *agent, const struct shmemi_device_entry *entry)
{
    struct shmemi_device_small *small = &agent->small[agent->n_small++];
    *small = (struct shmemi_device_small){.entry = *entry};
    return small;
}

static void add_words(struct shmemi_device_agent *agent, const struct shmemi_device_entry *entry,
                      const struct shmemi_device_listed *words)
{
    for (unsigned long long i = 0; i < entry->extra; i++) {
        struct shmemi_device_entry *word = &add_small(agent, entry)->entry;
        word->what = SHMEMI_DEVICE_PUT | SHMEMI_DEVICE_INLINE;
        word->offset = words[i].offset;
        word->value = words[i].value;
    }
}

static void add_bytes(struct shmemi_device_agent *agent, const struct shmemi_device_entry *entry, const char *slot)
{
    struct shmemi_device_small *small = add_small(agent, entry);
    small->bytes = agent->bytes + (size_t)agent->n_bytes++ * SHMEMI_DEVICE_SMALL_BYTES;
    memcpy(small->bytes, slot, entry->nbytes);
}

/* Copy the small puts that are next in the ring. Are there any? */
static bool take_small_puts(struct shmemi_device_agent *agent)
{
    const uint64_t before = agent->issued;
    while (has_next(agent) && is_small_put(entry_at(agent, agent->issued))) {
        const struct shmemi_device_entry *entry = entry_at(agent, agent->issued);
        char *slot = slot_at(agent, agent->issued);
        shmemi_interleave();
        if (entry->what & SHMEMI_DEVICE_LIST)
            add_words(agent, entry, (const void *)slot);
        else if (entry->what & SHMEMI_DEVICE_INLINE)
            add_small(agent, entry);
        else
            add_bytes(agent, entry, slot);
        agent->is_taken[agent->issued++ % SHMEMI_DEVICE_ENTRIES] = true;
    }
    return agent->issued != before;
}

/* Take also those that come right behind them. Their entries are free at once: kernels go on while these puts travel. */
static void collect_small_puts(struct shmemi_device_agent *agent)
{
    for (uint64_t last = shmemi_clock(); shmemi_clock() - last < SHMEMI_RING_LINGER_NS;)
        if (take_small_puts(agent)) {
            free_entries(agent);
            last = shmemi_clock();
        } else if (has_next(agent))
            return;
}

/* In the order of their places: what lies side by side then travels and arrives as one piece. */
static void sort(struct shmemi_device_small **order, struct shmemi_device_small *first, size_t n)
{
    bool is_sorted = true;
    for (size_t i = 0; i < n; i++) {
        order[i] = first + i;
        is_sorted = is_sorted && (!i || by_place(&order[i - 1], &order[i]) <= 0);
    }
    if (!is_sorted)
        qsort(order, n, sizeof order[0], by_place);
}

static void issue_small_puts(struct shmemi_device_agent *agent, uint64_t begin)
{
    struct shmemi_device_small *order[SHMEMI_DEVICE_SMALL_MOST], *first = &agent->small[agent->n_small];
    collect_small_puts(agent);
    const size_t n = (size_t)(&agent->small[agent->n_small] - first);
    sort(order, first, n);
    for (size_t i = 0; i < n; i++) {
        execute(agent, &order[i]->entry, order[i]->bytes);
        if (begin)
            measure(&order[i]->entry, SHMEMI_KERNEL_PUT, begin);
    }
}

/* Start all entries that have been written. */
static bool issue(struct shmemi_device_agent *agent, uint64_t begin)
{
    const uint64_t before = agent->issued;
    while (has_next(agent)) {
        struct shmemi_device_entry *entry = entry_at(agent, agent->issued);
        if (is_small_put(entry)) {
            issue_small_puts(agent, begin);
            continue;
        }
        agent->is_taken[agent->issued % SHMEMI_DEVICE_ENTRIES] = false;
        shmemi_interleave();
        execute(agent, entry, slot_at(agent, agent->issued));
        agent->issued++;
    }
    return agent->issued != before;
}

/* Count the operations that are complete now, but for small puts, which have been counted. */
static void measure_all(const struct shmemi_device_agent *agent, uint64_t begin)
{
    for (uint64_t ticket = agent->done; ticket != agent->issued; ticket++) {
        const struct shmemi_device_entry *entry = entry_at(agent, ticket);
        if (agent->is_taken[ticket % SHMEMI_DEVICE_ENTRIES])
            continue;
        const unsigned kind = entry->what & SHMEMI_DEVICE_KINDS;
        const bool signals = entry->what & (SHMEMI_DEVICE_SIGNAL | SHMEMI_DEVICE_ADD);
        if (kind != SHMEMI_DEVICE_PUT)
            measure(entry, kind == SHMEMI_DEVICE_GET ? SHMEMI_KERNEL_GET : SHMEMI_KERNEL_AMO, begin);
        else if (entry->nbytes || !signals)
            measure(entry, SHMEMI_KERNEL_PUT, begin);
        if (kind == SHMEMI_DEVICE_PUT && signals)
            measure(entry, SHMEMI_KERNEL_SIGNAL, begin);
    }
    shmemi_measure_from_kernel(SHMEMI_KERNEL_BUSY, &(struct shmemi_trace_transfer){.begin = begin});
}

static void complete(struct shmemi_device_agent *agent, uint64_t begin)
{
    if (shmemi_drivers_quiet(&agent->context))
        shmemi_fatal("operations of a kernel have failed");
    if (begin)
        measure_all(agent, begin);
    agent->done = agent->issued;
    agent->n_small = agent->n_bytes = 0;
    shmemi_interleave();
    __atomic_store_n(&agent->progress->done, agent->done, __ATOMIC_RELEASE);
}

/* Carry out what has come. Kernels see that it is complete once all of it is. */
static bool serve(struct shmemi_device_agent *agent)
{
    struct shmemi_call call = {.routine = "an operation of a kernel", .activity = SHMEMI_AT_TRANSFER};
    const uint64_t begin = shmemi_measure.is_on ? shmemi_clock() : 0;
    shmemi_call_begin(&call);
    const bool has_worked = issue(agent, begin);
    if (has_worked)
        complete(agent, begin);
    shmemi_call_end(&call);
    return free_entries(agent) || has_worked;
}

static void rest(unsigned *turns)
{
    const bool shares = shmemi_cores_are_shared() || shmemi_threads_are_guests();
    shmemi_work(SHMEMI_TURN_OF_AGENT);
    shmemi_rest(shares ? SHMEMI_KERNELS_IDLE_ON_SHARED_CORES : SHMEMI_KERNELS_IDLE, ++*turns);
}

static void *run(void *argument)
{
    const struct shmemi_memory *memory = argument; /* NULL: kernels are played by the CPU */
    unsigned turns = 0;
    shmemi_threads_enter("kernel agent", "shmem-kernels");
    if (memory)
        memory->streams->commands->serve_kernels();
    while (atomic_load(&runs)) {
        bool has_worked = false;
        for (struct shmemi_device_agent *agent = atomic_load(&shmemi_device_served); agent; agent = agent->next_served)
            has_worked |= serve(agent);
        if (has_worked)
            turns = 0;
        else
            rest(&turns);
    }
    return NULL;
}

static int start_once(const struct shmemi_memory *memory)
{
    if (atomic_exchange(&runs, true))
        return 0;
    int rc = shmemi_thread_start(&thread, "the thread for operations of kernels", run, (void *)memory);
    if (rc)
        atomic_store(&runs, false);
    return rc;
}

int shmemi_device_agent_serve(struct shmemi_device_agent *agent)
{
    int rc = start_once(agent->user.memory);
    if (rc)
        return rc;
    agent->next_served = atomic_load(&shmemi_device_served);
    atomic_store(&shmemi_device_served, agent);
    return 0;
}

/* ---- For others --------------------------------------------------------------------------------------------------- */

static uint64_t done_by(const struct shmemi_device_agent *agent)
{
    return __atomic_load_n(&agent->progress->done, __ATOMIC_ACQUIRE);
}

/* How many entries have been taken, up to the last one that is written and not known to be done; without such a one, how many
 * are done. A kernel that has ended has written all of its own, but one that runs may have taken an entry in front of them and
 * not written it yet: so the whole ring is looked at. */
static uint64_t handed_to(const struct shmemi_device_agent *agent)
{
    uint64_t until = done_by(agent);
    for (unsigned i = 0; i < SHMEMI_DEVICE_ENTRIES; i++) {
        const uint64_t sequence = sequence_of(&agent->entries[i]);
        if ((int64_t)(sequence - until) > 0)
            until = sequence;
    }
    return until;
}

static void wait_for(struct shmemi_device_drain *drain, struct shmemi_device_agent *agent)
{
    drain->agent = agent;
    drain->until = agent ? handed_to(agent) : 0;
}

bool shmemi_device_is_drained(struct shmemi_device_drain *drain)
{
    if (!drain->has_begun)
        wait_for(drain, atomic_load(&shmemi_device_served));
    drain->has_begun = true;
    while (drain->agent && (int64_t)(done_by(drain->agent) - drain->until) >= 0)
        wait_for(drain, drain->agent->next_served);
    return !drain->agent;
}

void shmemi_device_agents_stop(void)
{
    if (atomic_exchange(&runs, false))
        pthread_join(thread, NULL);
    atomic_store(&shmemi_device_served, NULL);
}
