/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fcollect. On one node everybody gives its block to everybody. Between nodes the blocks of a node come together at its
 * leader, the leaders exchange them, and each broadcasts the whole in its node.
 */
#include "shmem/collectives.h"

static int fcollect_eager(struct shmemi_team *team, const struct shmemi_copy_args *args)
{
    struct shmemi_context context = {0};
    const size_t nbytes = args->nbytes;
    uint64_t number = shmemi_node_enter(team);
    int rc = shmemi_copy_from(&context, shmemi_node_arrival(team, team->node.me, number, nbytes), &args->source, 0,
                              nbytes, shmemi_job.pe);
    if (!rc)
        rc = shmemi_drivers_quiet(&context);
    if (rc)
        return rc;
    shmemi_node_arrive(team, number);
    for (int rank = 0; rank < team->node.n && !rc; rank++) {
        shmemi_node_await(team, rank, number);
        rc = shmemi_copy_to(&context, &args->dest, (size_t)rank * nbytes,
                            shmemi_node_arrival(team, rank, number, nbytes), nbytes, shmemi_job.pe);
    }
    shmemi_node_all_entered(team, number);
    return rc ? rc : shmemi_drivers_quiet(&context);
}

static int fcollect_push(struct shmemi_team *team, const struct shmemi_copy_args *args)
{
    struct shmemi_context context = {0};
    const int n = team->node.n;
    int rc = 0;
    for (int i = 0; i < n && !rc; i++)
        rc = shmemi_send(&context, &args->dest, (size_t)team->my_pe * args->nbytes, &args->source, 0, args->nbytes,
                         shmemi_node_world_pe(team, (team->node.me + i) % n));
    if (!rc)
        rc = shmemi_drivers_quiet(&context);
    if (!rc)
        shmemi_node_sync(team);
    return rc;
}

/* ---- between nodes ----------------------------------------------------------------------------------------------- */

/* The nodes from one leader on, cyclically. */
struct nodes {
    int first, count;
};

static bool is_among(const struct shmemi_team *team, const struct nodes *nodes, int member)
{
    const int n = team->leaders.n;
    return (shmemi_leader_of_member(team, member) - nodes->first + n) % n < nodes->count;
}

/* Send the blocks of all members of these nodes; neighbours travel together. */
static int send_blocks(struct shmemi_team *team, struct shmemi_context *context, const struct shmemi_copy_args *args,
                       struct nodes nodes, int leader)
{
    const size_t nbytes = args->nbytes;
    int rc = 0;
    for (int first = 0, end; first < team->n_pes && !rc; first = end + 1) {
        for (end = first; end < team->n_pes && is_among(team, &nodes, end);)
            end++;
        if (end > first)
            rc = shmemi_send(context, &args->dest, (size_t)first * nbytes, &args->dest, (size_t)first * nbytes,
                             (size_t)(end - first) * nbytes, shmemi_leader_world_pe(team, leader));
    }
    return rc;
}

static int exchange_directly(struct shmemi_team *team, const struct shmemi_copy_args *args)
{
    struct shmemi_context context = {0};
    const int n = team->leaders.n, me = team->leaders.me;
    int rc = 0;
    for (int i = 1; i < n && !rc; i++)
        rc = send_blocks(team, &context, args, (struct nodes){me, 1}, (me + i) % n);
    if (!rc)
        rc = shmemi_drivers_quiet(&context);
    return rc ? rc : shmemi_leaders_sync(team);
}

/* In each round a leader sends what it has, the blocks of the nodes from its own on. */
static int exchange_by_dissemination(struct shmemi_team *team, const struct shmemi_copy_args *args)
{
    struct shmemi_collective_state *state = team->collective;
    struct shmemi_context context = {0};
    const int n = team->leaders.n, me = team->leaders.me;
    uint64_t number = ++state->leaders_number;
    int rc = 0;
    for (int round = 0, have = 1; have < n && !rc; round++, have *= 2) {
        int to = (me - have + n) % n, count = have < n - have ? have : n - have;
        rc = send_blocks(team, &context, args, (struct nodes){me, count}, to);
        if (!rc)
            rc = shmemi_notify(team, &context, shmemi_leader_world_pe(team, to), &state->mine->collected[round], number);
        if (!rc)
            shmemi_await_word(&state->mine->collected[round], number);
    }
    return rc ? rc : shmemi_drivers_quiet(&context);
}

static int leaders_fcollect(struct shmemi_team *team, const struct shmemi_copy_args *args)
{
    switch (shmemi_choose(&team->collective->choices, SHMEMI_COLLECTIVE_leaders_fcollect, args->nbytes)) {
    case SHMEMI_leaders_fcollect_dissemination:
        return exchange_by_dissemination(team, args);
    default:
        return exchange_directly(team, args);
    }
}

static int fcollect_over_nodes(struct shmemi_team *team, const struct shmemi_copy_args *args)
{
    struct shmemi_context context = {0};
    int rc = shmemi_send(&context, &args->dest, (size_t)team->my_pe * args->nbytes, &args->source, 0, args->nbytes,
                         shmemi_node_world_pe(team, 0));
    if (!rc)
        rc = shmemi_drivers_quiet(&context);
    if (rc)
        return rc;
    if (team->node.n > 1) {
        uint64_t number = shmemi_node_enter(team);
        shmemi_node_gather(team, number);
        if (team->node.me == 0)
            shmemi_node_arrive(team, number);
    }
    if (shmemi_is_leader(team))
        rc = leaders_fcollect(team, args);
    return rc ? rc
              : shmemi_node_broadcast(team, &args->dest, &args->dest, (size_t)team->n_pes * args->nbytes, 0);
}

int shmemi_fcollect(struct shmemi_team *team, const struct shmemi_copy_args *args)
{
    if (!args->nbytes)
        return 0;
    if (team->leaders.n > 1)
        return fcollect_over_nodes(team, args);
    if (shmemi_choose(&team->collective->choices, SHMEMI_COLLECTIVE_fcollect, args->nbytes) == SHMEMI_fcollect_eager)
        return fcollect_eager(team, args);
    return fcollect_push(team, args);
}
