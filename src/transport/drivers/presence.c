/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who takes part: a word in each heap, with the PE's process and how far it has come.
 */
#include "transport/drivers/presence.h"

#include "base/log.h"
#include "base/tuning.h"
#include "bootstrap/job.h"
#include "instrument/watch.h"
#include "transport/node.h"

#include <stdatomic.h>
#include <unistd.h>

enum { STATE_BITS = 2, STATE_MASK = (1 << STATE_BITS) - 1 };

/* The PE of another node that this thread has looked at last, and its word. */
static _Thread_local struct {
    int pe;
    uint64_t word;
} seen = {-1, 0};

static _Atomic uint64_t *word_here(int node_rank)
{
    return (_Atomic uint64_t *)(void *)(shmemi_node_heap(node_rank) + SHMEMI_PRESENCE_OFFSET);
}

static uint64_t load_here(int node_rank)
{
    return atomic_load_explicit(word_here(node_rank), memory_order_acquire);
}

static bool is_over(uint64_t word)
{
    return (word & STATE_MASK) >= SHMEMI_FINALIZES;
}

/* PEs count the barriers that they enter, and have done so before they end. */
static void look_in_barrier(void)
{
    for (int rank = 0; rank < shmemi_job.node_n_pes && !shmemi_is_ending(); rank++)
        if (shmemi_has_ended_here(rank) && !shmemi_node_has_come(rank))
            shmemi_end_missing_in_call(shmemi_job.node_pes[rank]);
}

void shmemi_presence_tell(enum shmemi_presence presence)
{
    const uint64_t word = (uint64_t)getpid() << STATE_BITS | presence;
    atomic_store_explicit(word_here(shmemi_job.node_rank), word, memory_order_release);
    shmemi_watch_process_of = shmemi_process_of;
    shmemi_node.look = look_in_barrier;
}

bool shmemi_is_ending(void)
{
    return is_over(load_here(shmemi_job.node_rank));
}

bool shmemi_has_ended_here(int node_rank)
{
    return is_over(load_here(node_rank));
}

/* Reads the word of a PE of another node, by a message, which a busy PE may answer late. */
static uint64_t load_far(const struct shmemi_view *heap)
{
    const struct shmemi_word_update read = {
        heap, SHMEMI_PRESENCE_OFFSET, {.op = SHMEMI_AMO_ADD, .size = sizeof seen.word}};
    struct shmemi_context context = {0};
    uint64_t word = 0;
    if (heap->driver->amo(&context, &read, &word, true))
        return 0; /* what it waits for will fail, too */
    seen.pe = heap->pe;
    return seen.word = word;
}

static bool is_due(struct shmemi_lookout *lookout)
{
    const uint64_t now = shmemi_clock();
    if (now < lookout->due)
        return false;
    const bool is_first = !lookout->due;
    lookout->pause = is_first ? SHMEMI_PRESENCE_PAUSE_NS : lookout->pause * 2;
    if (lookout->pause > SHMEMI_PRESENCE_PAUSE_MAX_NS)
        lookout->pause = SHMEMI_PRESENCE_PAUSE_MAX_NS;
    lookout->due = now + lookout->pause;
    return !is_first;
}

bool shmemi_has_ended(struct shmemi_lookout *lookout, const struct shmemi_view *heap)
{
    if (!heap || (load_here(shmemi_job.node_rank) & STATE_MASK) != SHMEMI_TAKES_PART)
        return false;
    const int node_rank = shmemi_job_node_rank_of(heap->pe);
    if (node_rank >= 0)
        return shmemi_has_ended_here(node_rank);
    return is_due(lookout) && is_over(load_far(heap));
}

static uint64_t known_word(int pe)
{
    const int node_rank = shmemi_job_node_rank_of(pe);
    if (node_rank >= 0)
        return load_here(node_rank);
    return seen.pe == pe ? seen.word : 0;
}

int shmemi_process_of(int pe)
{
    return shmemi_node.header ? (int)(known_word(pe) >> STATE_BITS) : 0;
}

static const char *routine_here(void)
{
    const char *routine = shmemi_present_routine();
    return routine ? routine : "the library";
}

static bool has_finalized(int pe)
{
    return (known_word(pe) & STATE_MASK) == SHMEMI_FINALIZES;
}

/* In the words of SHMEM_CHECK (shmem/check/compare.c), which names the lower PE first. */
void shmemi_end_missing_in_call(int pe)
{
    static const char calls[] = "%s: PE %d calls it, but PE %d of the same team calls %s",
                      finalize[] = "shmem_finalize";
    const char *routine = routine_here();
    const int me = shmemi_job.pe;
    const bool is_lower = me < pe;
    shmemi_node_end_first();
    if (has_finalized(pe))
        shmemi_fatal(calls, is_lower ? routine : finalize, is_lower ? me : pe, is_lower ? pe : me,
                     is_lower ? finalize : routine);
    shmemi_fatal("%s: PE %d calls it, but PE %d of the same team has ended its program", routine, me, pe);
}

void shmemi_end_missing_in_lock(int pe)
{
    shmemi_node_end_first();
    shmemi_fatal("%s: PE %d waits for the lock, but PE %d has it and %s", routine_here(), shmemi_job.pe, pe,
                 has_finalized(pe) ? "calls shmem_finalize" : "has ended its program");
}
