/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of a team's collectives; synchronisation; reductions of small private buffers, carried along by a
 * synchronisation.
 */
#define _GNU_SOURCE
#include "shmem/coll/collectives.h"

#include "base/copy_bytes.h"
#include "base/holdings.h"
#include "base/thread/cores.h"
#include "shmem/check/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static_assert(sizeof(struct shmemi_workspace) <= SHMEMI_WORKSPACE_BYTES, "the workspace must fit");
static_assert(sizeof(struct shmemi_line) == SHMEMI_CACHE_LINE, "a line must be one cache line");
static_assert(SHMEMI_AGREE_WORDS_MAX * sizeof(uint64_t) <= SHMEMI_LEADER_BYTES, "the words must fit into one record");

static int node_of_leader(const struct shmemi_team *team, int leader)
{
    return shmemi_job.node_of[shmemi_leader_world_pe(team, leader)];
}

static bool are_ascending(const struct shmemi_team *team)
{
    for (int leader = 1; leader < team->leaders.n; leader++)
        if (node_of_leader(team, leader) < node_of_leader(team, leader - 1))
            return false;
    return true;
}

static int compare_nodes(const void *a, const void *b, void *team)
{
    return node_of_leader(team, *(const int *)a) - node_of_leader(team, *(const int *)b);
}

/* Sorts the leaders by their nodes, unless they are in that order anyhow. */
static int sort_leaders(struct shmemi_team *team, int **by_node_p)
{
    *by_node_p = NULL;
    if (are_ascending(team))
        return 0;
    int *by_node = malloc((size_t)team->leaders.n * sizeof *by_node);
    if (!by_node)
        return -ENOMEM;
    for (int leader = 0; leader < team->leaders.n; leader++)
        by_node[leader] = leader;
    qsort_r(by_node, (size_t)team->leaders.n, sizeof *by_node, compare_nodes, team);
    *by_node_p = by_node;
    return 0;
}

/* Leaders of SHMEM_TEAM_WORLD have the numbers of their nodes. */
int shmemi_leader_of_member(const struct shmemi_team *team, int member)
{
    const int *by_node = team->collective->by_node;
    const int node = shmemi_job.node_of[shmemi_team_world_pe(team, member)];
    int low = 0, high = team->leaders.n - 1;
    if (!by_node && team->leaders.n == shmemi_job.n_nodes)
        return node;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (node_of_leader(team, by_node ? by_node[middle] : middle) < node)
            low = middle + 1;
        else
            high = middle;
    }
    return by_node ? by_node[low] : low;
}

/* What a team takes beside its workspace. */
static ptrdiff_t bytes_of_team(const struct shmemi_team *team)
{
    const struct shmemi_collective_state *state = team->collective;
    const size_t n_leaders = (size_t)team->leaders.n, node_n = (size_t)team->node.n;
    size_t bytes = sizeof *team + sizeof *state + node_n * sizeof state->node[0] + (node_n + n_leaders) * sizeof(int);
    bytes += (state->by_node ? n_leaders : 0) * sizeof(int);
    return (ptrdiff_t)(bytes + (team->world_pes ? (size_t)team->n_pes * sizeof(int) : 0));
}

static struct shmemi_collective_state *make_state(const struct shmemi_team *team)
{
    struct shmemi_collective_state *state;
    size_t size = sizeof *state + (size_t)team->node.n * sizeof state->node[0];
    size = (size + SHMEMI_CACHE_LINE - 1) / SHMEMI_CACHE_LINE * SHMEMI_CACHE_LINE;
    state = aligned_alloc(SHMEMI_CACHE_LINE, size);
    return state ? memset(state, 0, size) : NULL;
}

int shmemi_collective_open(struct shmemi_team *team, uint64_t number)
{
    if (team->leaders.n > SHMEMI_NODES_MAX) {
        shmemi_error("a team has PEs on %d nodes; at most %d are possible", team->leaders.n, SHMEMI_NODES_MAX);
        return -E2BIG;
    }
    const size_t workspace = shmemi_team_workspace(team);
    struct shmemi_collective_state *state = make_state(team);
    int *by_node = NULL;
    if (!state || sort_leaders(team, &by_node)) {
        shmemi_error("out of memory for the collectives of a team");
        free(state);
        return -ENOMEM;
    }
    for (int rank = 0; rank < team->node.n; rank++) {
        const struct shmemi_view *view = shmemi_region_view(&shmemi_heap_region, shmemi_node_world_pe(team, rank));
        state->node[rank] = (void *)(shmemi_view_host(view) + workspace);
    }
    state->mine = (void *)(shmemi_heap_region.base + workspace);
    state->spins = !shmemi_cores_are_shared();
    state->number = state->known_entered = state->leaders_number = state->piece_number = number;
    state->deliveries_most = 1;
    state->by_node = by_node;
    shmemi_choices_make(&state->choices, team);
    team->collective = state;
    shmemi_hold(SHMEMI_PART_COLLECTIVES, bytes_of_team(team));
    return 0;
}

uint64_t shmemi_collective_close(struct shmemi_team *team)
{
    struct shmemi_collective_state *state = team->collective;
    uint64_t number = state->number;
    if (state->leaders_number > number)
        number = state->leaders_number;
    if (state->piece_number > number)
        number = state->piece_number;
    shmemi_hold(SHMEMI_PART_COLLECTIVES, -bytes_of_team(team));
    free(state->by_node);
    free(state);
    team->collective = NULL;
    return number;
}

SHMEMI_QUICK int shmemi_collective_sync(struct shmemi_team *team)
{
    struct shmemi_collective_state *state = team->collective;
    state->may_lag = false;
    if (team->leaders.n == 1) {
        shmemi_node_sync(team);
        return 0;
    }
    if (team->node.n == 1)
        return shmemi_leaders_sync(team);
    uint64_t number = shmemi_node_enter(team, 0);
    shmemi_node_gather(team, number);
    int rc = shmemi_is_leader(team) ? shmemi_leaders_sync(team) : 0;
    if (!rc)
        shmemi_node_release(team, number);
    return rc;
}

/* ---- combining private memory ------------------------------------------------------------------------------------ */

/* Every member combines all contributions, in the order of the ranks. */
static void reduce_flat(struct shmemi_team *team, const struct shmemi_op *op, void *result, const void *contribution,
                        size_t nbytes)
{
    uint64_t number = shmemi_node_enter(team, nbytes);
    memcpy(shmemi_node_arrival(team, team->node.me, number, nbytes), contribution, nbytes);
    shmemi_node_arrive(team, number);
    shmemi_node_await(team, 0, number);
    const char *sum = shmemi_node_arrival(team, 0, number, nbytes);
    for (int rank = 1; rank < team->node.n; rank++) {
        shmemi_node_await(team, rank, number);
        shmemi_combine(op, result, sum, shmemi_node_arrival(team, rank, number, nbytes), nbytes);
        sum = result;
    }
    shmemi_node_all_entered(team, number);
}

static int reduce_among_leaders(struct shmemi_team *team, const struct shmemi_op *op, char *data, size_t nbytes)
{
    int rc = 0;
    for (size_t done = 0; done < nbytes && !rc && team->leaders.n > 1; done += SHMEMI_LEADER_BYTES) {
        size_t left = nbytes - done;
        rc = shmemi_leaders_reduce(team, op, data + done, left < SHMEMI_LEADER_BYTES ? left : SHMEMI_LEADER_BYTES);
    }
    return rc;
}

/* Inner ranks combine the sums of their children; rank 0 gets the result of the node. */
static int reduce_by_tree(struct shmemi_team *team, const struct shmemi_op *op, void *result, const void *contribution,
                          size_t nbytes)
{
    const int me = team->node.me;
    uint64_t number = shmemi_node_enter(team, nbytes);
    char *sum = me ? shmemi_node_arrival(team, me, number, nbytes) : shmemi_node_release_data(team, me, number, nbytes);
    memcpy(sum, contribution, nbytes);
    struct shmemi_children children = shmemi_node_children(team, me);
    for (int rank = children.first; rank < children.end; rank++) {
        shmemi_node_await(team, rank, number);
        shmemi_combine(op, sum, sum, shmemi_node_arrival(team, rank, number, nbytes), nbytes);
    }
    if (me)
        shmemi_node_arrive(team, number);
    int rc = me ? 0 : reduce_among_leaders(team, op, sum, nbytes);
    if (rc)
        return rc;
    shmemi_node_release(team, number);
    shmemi_copy_bytes(result, shmemi_node_release_data(team, 0, number, nbytes), nbytes);
    return 0;
}

int shmemi_reduce_private(struct shmemi_team *team, const struct shmemi_op *op, void *result, const void *contribution,
                          size_t nbytes)
{
    if (team->node.n == 1) {
        shmemi_copy_bytes(result, contribution, nbytes);
        return reduce_among_leaders(team, op, result, nbytes);
    }
    enum shmemi_algorithm algorithm = shmemi_choose(&team->collective->choices, SHMEMI_COLLECTIVE_reduce, nbytes);
    if (team->leaders.n > 1 || algorithm != SHMEMI_reduce_flat)
        return reduce_by_tree(team, op, result, contribution, nbytes);
    reduce_flat(team, op, result, contribution, nbytes);
    return 0;
}

int shmemi_collective_agree(struct shmemi_team *team, enum shmemi_agree_op op, uint64_t *words, unsigned n)
{
    enum shmemi_operation operation = op == SHMEMI_AGREE_AND ? SHMEMI_OP_and : SHMEMI_OP_max;
    struct shmemi_call call = {.routine = "an agreement of a team", .activity = SHMEMI_AT_RUNTIME};
    shmemi_span_begin(&call);
    int rc = shmemi_reduce_private(team, &shmemi_ops[operation][SHMEMI_KIND_U64], words, words, n * sizeof *words);
    shmemi_span_end(&call);
    return rc;
}

void shmemi_sync_world(void)
{
    shmemi_require(shmemi_collective_sync(&shmemi_team_world));
}

SHMEMI_QUICK void shmemi_barrier_in(const char *routine)
{
    struct shmemi_call call = {.routine = routine, .activity = SHMEMI_AT_BARRIER};
    shmemi_span_begin(&call);
    shmemi_quiet(&shmemi_default_ctx);
    shmemi_complete_contexts();
    shmemi_check_equal(routine, &shmemi_team_world, NULL);
    shmemi_check_heap(routine);
    shmemi_sync_world();
    shmemi_span_end(&call);
}

void shmemi_barrier_world(void)
{
    shmemi_barrier_in("shmem_barrier_all");
}

void shmemi_sync_in(const char *routine, struct shmemi_team *team, bool delivers)
{
    struct shmemi_call call = {.routine = routine, .activity = SHMEMI_AT_BARRIER};
    shmemi_span_begin(&call);
    if (delivers)
        shmemi_deliver_held();
    shmemi_check_equal(routine, team, NULL);
    shmemi_require(shmemi_collective_sync(team));
    shmemi_span_end(&call);
}
