/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The final barrier of all PEs: in shmem_finalize, or at the end of a program that did not call it. Its words are its own
 * and are used once, so it matches no other call: a PE that waits for this one elsewhere sees that it has ended
 * (transport/drivers/presence.h), and the others serve requests meanwhile.
 *
 * A PE may wait for one whose program has ended without being able to see that: it waits for a signal that the other would
 * have sent, and the job would hang for ever. That is known when all others have waited for SHMEM_TIMEOUT. The first PE
 * that ends without shmem_finalize looks for it.
 */
#include "shmem/coll/collectives.h"

#include "base/settings.h"
#include "base/tuning.h"

#include <stddef.h>
#include <stdlib.h>

/* Set in the words for other PEs, beside the bits of enum shmemi_end_action. */
enum { HAS_ARRIVED = 1 << SHMEMI_END_ACTION_BITS };

struct end_wait {
    struct shmemi_call call;
    int pe;           /* that this one waits for */
    uint64_t flags;   /* HAS_ARRIVED and the actions, of this PE and of those from which they have come */
    uint64_t *waited; /* by each PE, when last looked at; NULL: this PE does not look for a job that hangs */
    uint64_t look_at; /* when to look again, by shmemi_clock */
    bool seems_vain;  /* at the last look all waited; one of them may just have got what it waited for */
};

static bool is_first_unfinished; /* this PE has warned */

static size_t in_workspace(size_t at)
{
    return shmemi_team_workspace(&shmemi_team_world) + at;
}

/* Add to a word in the heap of a PE; *old_p: its value before. */
static int add_to_word(int pe, size_t at, uint64_t value, uint64_t *old_p)
{
    const struct shmemi_word_update add = {.view = shmemi_region_view(&shmemi_heap_region, pe),
                                           .offset = at,
                                           .amo = {.op = SHMEMI_AMO_ADD, .size = sizeof value, .operand = value}};
    const struct shmemi_place old = shmemi_place_host(old_p);
    return add.view ? shmemi_op_amo(shmemi_context_of(SHMEM_CTX_DEFAULT), &add, old_p ? &old : NULL, true) : -ENOMEM;
}

void shmemi_tell_waits(bool on)
{
    bool is_single = shmemi_thread_level() < SHMEM_THREAD_MULTIPLE;
    shmemi_watch_tell(on && is_single ? &shmemi_team_world.collective->mine->waited : NULL);
}

int shmemi_end_without_finalize(void)
{
    uint64_t others = 0;
    int rc = add_to_word(0, in_workspace(offsetof(struct shmemi_workspace, unfinished)), 1, &others);
    is_first_unfinished = !rc && !others;
    if (is_first_unfinished)
        shmemi_warn("the program ends without shmem_finalize; it is finalised now, which waits for all PEs");
    return rc;
}

/* ---- A job that hangs -------------------------------------------------------------------------------------------- */

/* Has the PE not ended, and waited for SHMEM_TIMEOUT, up to now? Its number of seconds has grown since the last look.
 * *last_p: that number. */
static int look_at(int pe, uint64_t *last_p, bool *is_ending_p, bool *waits_p)
{
    uint64_t arrived = 0, waited = 0;
    int rc = add_to_word(pe, in_workspace(offsetof(struct shmemi_workspace, has_arrived)), 0, &arrived);
    if (!rc && !arrived)
        rc = add_to_word(pe, in_workspace(offsetof(struct shmemi_workspace, waited)), 0, &waited);
    *is_ending_p = arrived;
    *waits_p = waited > *last_p && waited >= shmemi_settings.timeout;
    *last_p = waited;
    return rc;
}

/* Refuse to wait for PEs that all wait. */
static int look_at_others(struct end_wait *end)
{
    int n_waiting = 0, n_busy = 0, rc = 0, example = 0;
    for (int pe = 0; pe < shmemi_job.n_pes && !rc; pe++) {
        bool is_ending = false, waits = false;
        rc = look_at(pe, &end->waited[pe], &is_ending, &waits);
        n_waiting += waits;
        n_busy += !waits && !is_ending;
        example = waits ? pe : example;
    }
    const bool seemed_vain = end->seems_vain;
    end->seems_vain = n_waiting && !n_busy;
    if (rc || !end->seems_vain || !seemed_vain)
        return rc;
    shmemi_error(
        "the program ends without shmem_finalize, but PE %d%s waited for %zu s (SHMEM_TIMEOUT) and no other PE "
        "goes on: it waits for something that only PEs which have ended could do",
        example, n_waiting > 1 ? " and others have" : " has", shmemi_settings.timeout);
    return -EPROTO;
}

/* The first look comes after SHMEM_TIMEOUT: before, nobody can have waited for so long in vain. */
static void begin_looking(struct end_wait *end)
{
    if (is_first_unfinished && shmemi_settings.timeout)
        end->waited = calloc((size_t)shmemi_job.n_pes, sizeof *end->waited);
    end->look_at = shmemi_clock() + shmemi_settings.timeout * 1000000000u;
}

static int look_in_time(struct end_wait *end)
{
    if (!end->waited || shmemi_clock() < end->look_at)
        return 0;
    end->look_at = shmemi_clock() + SHMEMI_END_LOOK_SECONDS * 1000000000ull;
    return look_at_others(end);
}

/* ---- The barrier ------------------------------------------------------------------------------------------------- */

static void describe_end_wait(const struct shmemi_call *call, char *text, size_t size)
{
    const int pe = ((const struct end_wait *)call)->pe;
    shmemi_append(text, size, "for PE %d%s to end", pe,
                  shmemi_job_node_rank_of(pe) < 0 ? ", or one that it waits for," : "");
    shmemi_name_process(pe);
}

/* Wait for the flags of a PE, and add them to those of this one. */
static int await(struct end_wait *end, const _Atomic uint64_t *word, int pe)
{
    unsigned spins = 0;
    uint64_t flags;
    end->pe = pe;
    while (!(flags = atomic_load_explicit(word, memory_order_acquire))) {
        int rc = shmemi_progress(&spins) ? look_in_time(end) : 0;
        if (rc)
            return rc;
    }
    end->flags |= flags;
    return 0;
}

static int final_barrier_of_leaders(struct end_wait *end)
{
    struct shmemi_team *team = &shmemi_team_world;
    struct shmemi_workspace *mine = team->collective->mine;
    struct shmemi_context context = {0};
    const int n = team->leaders.n, me = team->leaders.me;
    int rc = 0;
    for (int round = 0, distance = 1; distance < n && !rc; round++, distance *= 2) {
        rc = shmemi_notify(team, &context, shmemi_leader_world_pe(team, (me + distance) % n), &mine->ended[round],
                           end->flags);
        if (!rc)
            rc = await(end, &mine->ended[round], shmemi_leader_world_pe(team, (me + n - distance) % n));
    }
    return rc ? rc : shmemi_complete(&context);
}

static int final_barrier(struct end_wait *end)
{
    struct shmemi_team *team = &shmemi_team_world;
    struct shmemi_workspace *mine = team->collective->mine, *const *node = team->collective->node;
    int rc = 0;
    atomic_store_explicit(&mine->has_arrived, end->flags, memory_order_release);
    if (!shmemi_is_leader(team))
        return await(end, &node[0]->all_have_arrived, shmemi_node_world_pe(team, 0));
    for (int rank = 1; rank < team->node.n && !rc; rank++)
        rc = await(end, &node[rank]->has_arrived, shmemi_node_world_pe(team, rank));
    if (!rc)
        rc = final_barrier_of_leaders(end);
    atomic_store_explicit(&mine->all_have_arrived, end->flags, memory_order_release);
    return rc;
}

int shmemi_final_barrier(enum shmemi_presence presence, unsigned *actions_p)
{
    struct end_wait end = {.call = {.activity = SHMEMI_AT_DETAIL, .describe = describe_end_wait},
                           .flags = HAS_ARRIVED | *actions_p};
    shmemi_presence_tell(presence);
    begin_looking(&end);
    shmemi_call_begin(&end.call);
    int rc = final_barrier(&end);
    shmemi_call_end(&end.call);
    free(end.waited);
    *actions_p = (unsigned)end.flags & (HAS_ARRIVED - 1);
    return rc;
}
