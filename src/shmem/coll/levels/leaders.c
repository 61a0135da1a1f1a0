/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between nodes: the leaders of a team write words and records into each other's workspaces. A word holds the number of
 * the operation that its writer has reached; numbers are the same on all leaders and only grow.
 */
#include "shmem/coll/collectives.h"

#include "base/copy_bytes.h"

#include <string.h>

int shmemi_put_to_workspace(struct shmemi_team *team, struct shmemi_context *context, int world_pe, const void *mine,
                            const void *source, size_t nbytes)
{
    const struct shmemi_view *view = shmemi_region_view(&shmemi_heap_region, world_pe);
    size_t offset = shmemi_team_workspace(team) + (size_t)((const char *)mine - (const char *)team->collective->mine);
    return shmemi_op_transfer(&(struct shmemi_transfer){
        .context = context,
        .view = view,
        .offset = offset,
        .mine = shmemi_place_host(source),
        .shape = shmemi_shape_linear(nbytes),
        .is_put = true,
        .is_blocking = true,
    });
}

/* No flag or lock is needed: a put of one aligned word arrives in one piece. */
int shmemi_notify(struct shmemi_team *team, struct shmemi_context *context, int world_pe, const _Atomic uint64_t *word,
                  uint64_t number)
{
    int rc = shmemi_context_has_pending(context) ? shmemi_drivers_fence(context) : 0;
    atomic_thread_fence(memory_order_release); /* partner: shmemi_await_word */
    return rc ? rc : shmemi_put_to_workspace(team, context, world_pe, (const void *)word, &number, sizeof number);
}

/* Dissemination: the distance doubles in each round. With step 0 all rounds use one context; with step 1 each has its
 * own. */
static int disseminate(struct shmemi_team *team, struct shmemi_context *context, int step, uint64_t number)
{
    struct shmemi_collective_state *state = team->collective;
    const int n = team->leaders.n;
    for (int round = 0, distance = 1; distance < n; round++, distance *= 2, context += step) {
        int to = shmemi_leader_world_pe(team, (team->leaders.me + distance) % n);
        int rc = shmemi_notify(team, context, to, &state->mine->synced[round], number);
        if (rc)
            return rc;
        shmemi_await_leader(team, (team->leaders.me + n - distance) % n, &state->mine->synced[round], number);
    }
    return 0;
}

int shmemi_leaders_sync(struct shmemi_team *team)
{
    struct shmemi_context context = {0};
    uint64_t number = ++team->collective->leaders_number;
    shmemi_leaders_all_entered(team);
    team->collective->awaits_records = false;
    int rc = disseminate(team, &context, 0, number);
    return rc ? rc : shmemi_complete(&context);
}

void shmemi_leaders_all_entered(struct shmemi_team *team)
{
    team->collective->deliveries = 0;
    team->collective->deliveries_most = 1;
}

/* Only broadcasts let leaders run ahead. One that begins with a synchronisation may be followed by one that does not,
 * since all have entered the former. */
int shmemi_leaders_await_entered(struct shmemi_team *team)
{
    struct shmemi_collective_state *state = team->collective;
    if (state->deliveries < state->deliveries_most)
        return 0;
    int rc = shmemi_leaders_sync(team);
    state->deliveries_most = SHMEMI_FLAGS;
    return rc;
}

int shmemi_leaders_sync_last(struct shmemi_team *team)
{
    /* Static, since completions may arrive after the return; one for each round, so that no round waits for another. */
    static struct shmemi_context contexts[SHMEMI_ROUNDS];
    memset(contexts, 0, sizeof contexts);
    return disseminate(team, contexts, 1, ++team->collective->leaders_number);
}

/* ---- recursive doubling ------------------------------------------------------------------------------------------
 *
 * If the number of leaders is not a power of two, those beyond the largest power below it first hand their data to a
 * leader below, and get the result at the end. Records alternate between two sets: a leader that sends in operation k +
 * 2 has received in k + 1 from the same partner, which had then finished k. The data of the lower leader are the left
 * operand, so all get the same bits. */

struct leaders_doubling {
    struct shmemi_team *team;
    struct shmemi_context context;
    const struct shmemi_op *op;
    char *data;
    size_t nbytes;
    uint64_t number;
    unsigned set;
};

static int send_record(struct leaders_doubling *doubling, int leader, int slot)
{
    struct shmemi_workspace *mine = doubling->team->collective->mine;
    int to = shmemi_leader_world_pe(doubling->team, leader);
    int rc = shmemi_put_to_workspace(doubling->team, &doubling->context, to, mine->record[doubling->set][slot],
                                     doubling->data, doubling->nbytes);
    return rc ? rc : shmemi_notify(doubling->team, &doubling->context, to, &mine->reduced[slot], doubling->number);
}

static const char *await_record(const struct leaders_doubling *doubling, int leader, int slot)
{
    struct shmemi_workspace *mine = doubling->team->collective->mine;
    shmemi_await_leader(doubling->team, leader, &mine->reduced[slot], doubling->number);
    return mine->record[doubling->set][slot];
}

static int exchange_record(struct leaders_doubling *doubling, int partner, int round)
{
    char *data = doubling->data;
    int rc = send_record(doubling, partner, round);
    if (rc)
        return rc;
    const char *theirs = await_record(doubling, partner, round);
    if (partner > doubling->team->leaders.me)
        shmemi_combine(doubling->op, data, data, theirs, doubling->nbytes);
    else
        shmemi_combine(doubling->op, data, theirs, data, doubling->nbytes);
    return 0;
}

static int reduce_among_power_of_two(struct leaders_doubling *doubling, int power, int n)
{
    const int me = doubling->team->leaders.me;
    int rc = 0;
    if (me + power < n)
        shmemi_combine(doubling->op, doubling->data, doubling->data, await_record(doubling, me + power, SHMEMI_FOLD),
                       doubling->nbytes);
    for (int round = 0, distance = 1; distance < power && !rc; round++, distance *= 2)
        rc = exchange_record(doubling, me ^ distance, round);
    if (me + power < n && !rc)
        rc = send_record(doubling, me + power, SHMEMI_UNFOLD);
    return rc;
}

static int reduce_beyond_power_of_two(struct leaders_doubling *doubling, int power)
{
    const int below = doubling->team->leaders.me - power;
    int rc = send_record(doubling, below, SHMEMI_FOLD);
    if (!rc)
        shmemi_copy_bytes(doubling->data, await_record(doubling, below, SHMEMI_UNFOLD), doubling->nbytes);
    return rc;
}

int shmemi_leaders_reduce(struct shmemi_team *team, const struct shmemi_op *op, void *data, size_t nbytes)
{
    struct shmemi_collective_state *state = team->collective;
    struct leaders_doubling doubling = {.team = team, .op = op, .data = data, .nbytes = nbytes};
    const int n = team->leaders.n;
    int power = 1, rc = state->awaits_records ? shmemi_leaders_sync(team) : 0;
    while (power * 2 <= n)
        power *= 2;
    if (rc)
        return rc;
    doubling.number = ++state->leaders_number;
    doubling.set = state->reductions++ % 2;
    rc = team->leaders.me < power ? reduce_among_power_of_two(&doubling, power, n)
                                  : reduce_beyond_power_of_two(&doubling, power);
    shmemi_leaders_all_entered(team);
    return rc ? rc : shmemi_complete(&doubling.context);
}
