/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations inside a node. Each member owns a ring of lines in its workspace, one per operation, which the others
 * poll. Operation k + SHMEMI_LINES reuses the line of operation k, so all members must have left k by then; a member
 * that has entered k + 1 has left k. An operation in which all members wait for each other proves that all have entered
 * it; after operations in which only some wait (broadcasts), a member that runs ahead reads the others' lines before it
 * goes on.
 */
#include "base/likely.h"
#include "base/wake/interleave.h"
#include "base/tuning.h"
#include "shmem/coll/collectives.h"

#include "gpu/copy_threads/processor.h"

static inline _Atomic uint64_t *arrival(const struct shmemi_team *team, int rank, uint64_t number)
{
    return &team->collective->node[rank]->arrival[number % SHMEMI_LINES].number;
}

static inline _Atomic uint64_t *release(const struct shmemi_team *team, int rank, uint64_t number)
{
    return &team->collective->node[rank]->release[number % SHMEMI_LINES].number;
}

/* Describes a wait for another leader, which may itself wait for a third. */
struct next_leader_wait {
    struct shmemi_call call;
    int world_pe;
};

static void describe_leader(const struct shmemi_call *call, char *text, size_t size)
{
    const int pe = ((const struct next_leader_wait *)call)->world_pe;
    shmemi_append(text, size, "for PE %d, the first of its node, or for one that it waits for", pe);
    shmemi_name_process(pe);
}

__attribute__((noinline)) void shmemi_await_word(const _Atomic uint64_t *word, uint64_t number, int world_pe)
{
    unsigned spins = 0;
    struct shmemi_lookout lookout = {0};
    struct next_leader_wait wait = {{.activity = SHMEMI_AT_DETAIL, .describe = describe_leader}, world_pe};
    shmemi_call_begin(&wait.call);
    while (atomic_load_explicit(word, memory_order_acquire) < number)
        if (shmemi_progress(&spins) && shmemi_has_ended(&lookout, shmemi_region_view(&shmemi_heap_region, world_pe)) &&
            atomic_load_explicit(word, memory_order_acquire) < number)
            shmemi_end_missing_in_call(world_pe);
    shmemi_call_end(&wait.call);
}

/* Describes a wait for a line of the operation with this number. */
struct line_wait {
    struct shmemi_call call;
    const struct shmemi_team *team;
    uint64_t number;
};

/* Relaxed: for a text, or after the acquire of the PE's presence. */
static bool has_arrived(const struct shmemi_team *team, int rank, uint64_t number)
{
    return atomic_load_explicit(arrival(team, rank, number), memory_order_relaxed) >= number;
}

/* Whether a member itself is the cause of a wait. In a tree a member arrives after its children, so one whose child has
 * not arrived is not the cause. */
static bool is_late(const struct shmemi_team *team, int rank, uint64_t number)
{
    bool late = rank != team->node.me && !has_arrived(team, rank, number);
    struct shmemi_children children = shmemi_node_children(team, rank);
    for (int child = children.first; child < children.end && late; child++)
        late = child == team->node.me || has_arrived(team, child, number);
    return late;
}

static void describe_line(const struct shmemi_call *call, char *text, size_t size)
{
    const struct line_wait *wait = (const struct line_wait *)call;
    unsigned n = 0;
    shmemi_append(text, size, "for ");
    for (int rank = 0; rank < wait->team->node.n; rank++)
        if (is_late(wait->team, rank, wait->number))
            shmemi_append_pe(text, size, &n, shmemi_node_world_pe(wait->team, rank));
    if (n)
        shmemi_append(text, size, " to come");
    else if (wait->team->leaders.n > 1) {
        shmemi_append_pe(text, size, &n, shmemi_node_world_pe(wait->team, 0));
        shmemi_append(text, size, ", which exchanges with other nodes");
    } else
        shmemi_append(text, size, "the others, which have arrived, to go on");
}

/* All members arrive in every operation, and have arrived in their last one before they end. */
static void look_for_ended(const struct shmemi_team *team, uint64_t number)
{
    for (int rank = 0; rank < team->node.n && !shmemi_is_ending(); rank++) {
        const int pe = shmemi_node_world_pe(team, rank);
        if (shmemi_has_ended_here(shmemi_job_node_rank_of(pe)) && !has_arrived(team, rank, number))
            shmemi_end_missing_in_call(pe);
    }
}

static __attribute__((noinline)) void await_line_for_long(const struct shmemi_team *team, const _Atomic uint64_t *word,
                                                          uint64_t number)
{
    unsigned spins = 0;
    struct line_wait wait = {{.activity = SHMEMI_AT_DETAIL, .describe = describe_line}, team, number};
    shmemi_call_begin(&wait.call);
    while (atomic_load_explicit(word, memory_order_acquire) < number)
        if (shmemi_progress(&spins))
            look_for_ended(team, number);
    shmemi_call_end(&wait.call);
}

static void await_line(const struct shmemi_team *team, const _Atomic uint64_t *word, uint64_t number)
{
    shmemi_interleave();
    for (int i = team->collective->spins ? SHMEMI_NODE_QUICK_SPINS : 1; i > 0; i--) {
        if (shmemi_likely(atomic_load_explicit(word, memory_order_acquire) >= number))
            return;
        shmemi_pause();
    }
    await_line_for_long(team, word, number);
}

int shmemi_node_rank_of_member(const struct shmemi_team *team, int member)
{
    int low = 0, high = team->node.n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (team->node.pes[middle] < member)
            low = middle + 1;
        else
            high = middle;
    }
    return low < team->node.n && team->node.pes[low] == member ? low : -1;
}

/* A member may enter operation k when all have entered k + 1 - SHMEMI_LINES or, with scratch memory, k + 1 -
 * SHMEMI_SCRATCH_SLOTS. If it does not know that, it waits until all are further than needed, so as not to wait in
 * every operation. */
SHMEMI_QUICK uint64_t shmemi_node_enter(struct shmemi_team *team, size_t nbytes)
{
    const unsigned apart = nbytes <= SHMEMI_LINE_BYTES ? SHMEMI_LINES : SHMEMI_SCRATCH_SLOTS;
    struct shmemi_collective_state *state = team->collective;
    uint64_t number = ++state->number;
    if (shmemi_likely(state->known_entered + apart > number))
        return number;
    for (int rank = 0; rank < team->node.n; rank++)
        if (rank != team->node.me)
            shmemi_node_await(team, rank, number - apart / 2);
    state->known_entered = number - apart / 2;
    return number;
}

/* Prefetches the next line, which the others do not poll yet, so that the next store need not wait for it. */
void shmemi_node_arrive(struct shmemi_team *team, uint64_t number)
{
    struct shmemi_line *line = team->collective->mine->arrival;
    shmemi_interleave();
    atomic_store_explicit(&line[number % SHMEMI_LINES].number, number, memory_order_release);
    __builtin_prefetch(&line[(number + 1) % SHMEMI_LINES], 1);
}

void shmemi_node_await(struct shmemi_team *team, int rank, uint64_t number)
{
    await_line(team, arrival(team, rank, number), number);
}

void shmemi_node_await_all(struct shmemi_team *team, uint64_t number)
{
    for (int rank = 0; rank < team->node.n; rank++)
        await_line(team, arrival(team, rank, number), number);
    shmemi_node_all_entered(team, number);
}

void shmemi_node_await_entered(struct shmemi_team *team, int rank, uint64_t number)
{
    if (shmemi_unlikely(team->collective->known_entered < number) && rank != team->node.me)
        shmemi_node_await(team, rank, number);
}

void shmemi_node_give(struct shmemi_team *team, uint64_t number)
{
    atomic_store_explicit(&team->collective->mine->release[number % SHMEMI_LINES].number, number, memory_order_release);
}

void shmemi_node_take(struct shmemi_team *team, int rank, uint64_t number)
{
    await_line(team, release(team, rank, number), number);
}

struct shmemi_children shmemi_node_children(const struct shmemi_team *team, int rank)
{
    int first = SHMEMI_NODE_TREE_RADIX * rank + 1, end = first + SHMEMI_NODE_TREE_RADIX;
    if (first > team->node.n)
        first = team->node.n;
    return (struct shmemi_children){first, end < team->node.n ? end : team->node.n};
}

void shmemi_node_gather(struct shmemi_team *team, uint64_t number)
{
    struct shmemi_children children = shmemi_node_children(team, team->node.me);
    for (int rank = children.first; rank < children.end; rank++)
        shmemi_node_await(team, rank, number);
    if (team->node.me > 0)
        shmemi_node_arrive(team, number);
}

void shmemi_node_release(struct shmemi_team *team, uint64_t number)
{
    if (team->node.me > 0) {
        shmemi_node_take(team, 0, number);
    } else {
        shmemi_node_arrive(team, number);
        shmemi_node_give(team, number);
    }
    shmemi_node_all_entered(team, number);
}

SHMEMI_QUICK void shmemi_node_sync(struct shmemi_team *team)
{
    if (team->node.n == 1)
        return;
    uint64_t number = shmemi_node_enter(team, 0);
    if (shmemi_choose(&team->collective->choices, SHMEMI_COLLECTIVE_sync, 0) == SHMEMI_sync_flat) {
        shmemi_node_arrive(team, number);
        shmemi_node_await_all(team, number);
        return;
    }
    shmemi_node_gather(team, number);
    shmemi_node_release(team, number);
}
