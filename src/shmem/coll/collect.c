/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fcollect and collect. On one node every member sends its block to every other. Between nodes each leader gathers the
 * blocks of its node, the leaders exchange them, and each broadcasts the whole in its node. collect does the same once
 * all members know where the blocks start.
 */
#include "shmem/coll/collectives.h"

#include <errno.h>
#include <stdlib.h>

/* Where the block of a member starts in dest; for member n_pes, where the last one ends. */
static size_t start_of(const struct shmemi_copy_args *args, int member)
{
    return args->starts ? args->starts[member] : (size_t)member * args->nbytes;
}

static int send_own_block(struct shmemi_team *team, struct shmemi_context *context, const struct shmemi_copy_args *args,
                          int world_pe)
{
    if (!args->nbytes)
        return 0;
    return shmemi_send(context, &args->dest, start_of(args, team->my_pe), &args->source, 0, args->nbytes, world_pe);
}

static int fcollect_push(struct shmemi_team *team, const struct shmemi_copy_args *args)
{
    struct shmemi_context context = SHMEMI_TO_ALL;
    struct shmemi_event own = {0};
    const int n = team->node.n;
    int rc = 0;
    for (int i = 1; i < n && !rc; i++) {
        int rank = (team->node.me + i) % n;
        shmemi_node_await_entered(team, rank, team->collective->number);
        rc = send_own_block(team, &context, args, shmemi_node_world_pe(team, rank));
    }
    if (!rc && args->nbytes)
        rc = shmemi_send_to_self(&context, &own, &args->dest, start_of(args, team->my_pe), &args->source, 0,
                                 args->nbytes);
    if (!rc)
        rc = shmemi_complete(&context);
    if (!rc)
        rc = shmemi_own_wait(&own);
    if (!rc)
        shmemi_node_sync(team);
    return rc;
}

/* This member's block to all dests, its own too. -ENOTSUP: no kernel reaches them all. */
static int send_to_all_by_device(struct shmemi_team *team, const struct shmemi_copy_args *args)
{
    struct shmemi_place source, dest[SHMEMI_COMBINE_ARRAYS];
    const int n = team->node.n;
    if (n > SHMEMI_COMBINE_ARRAYS || !shmemi_device_place(&args->source, 0, shmemi_job.pe, &source))
        return -ENOTSUP;
    for (int i = 0; i < n; i++)
        if (!shmemi_device_place(&args->dest, start_of(args, team->my_pe),
                                 shmemi_node_world_pe(team, (team->node.me + i) % n), &dest[i]))
            return -ENOTSUP;
    for (int rank = 0; rank < n; rank++)
        shmemi_node_await_entered(team, rank, team->collective->number);
    return shmemi_copy_by_device(&source, dest, n, args->nbytes);
}

static int fcollect_kernel(struct shmemi_team *team, const struct shmemi_copy_args *args)
{
    const int rc = send_to_all_by_device(team, args);
    if (rc == -ENOTSUP)
        return fcollect_push(team, args);
    if (!rc)
        shmemi_node_sync(team);
    return rc;
}

/* ---- between nodes ----------------------------------------------------------------------------------------------- */

/* A number of nodes, counted cyclically from one leader on. */
struct nodes {
    int first, count;
};

static bool is_among(const struct shmemi_team *team, const struct nodes *nodes, int member)
{
    const int n = team->leaders.n;
    return (shmemi_leader_of_member(team, member) - nodes->first + n) % n < nodes->count;
}

/* Send the blocks of all members of these nodes; adjacent blocks are one transfer. */
static int send_blocks(struct shmemi_team *team, struct shmemi_context *context, const struct shmemi_copy_args *args,
                       struct nodes nodes, int leader)
{
    int rc = 0;
    for (int first = 0, end; first < team->n_pes && !rc; first = end + 1) {
        for (end = first; end < team->n_pes && is_among(team, &nodes, end);)
            end++;
        size_t start = start_of(args, first), nbytes = start_of(args, end) - start;
        if (nbytes)
            rc = shmemi_send(context, &args->dest, start, &args->dest, start, nbytes,
                             shmemi_leader_world_pe(team, leader));
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
        rc = shmemi_complete(&context);
    return rc ? rc : shmemi_leaders_sync(team);
}

/* In each round a leader sends all the blocks that it has: those of the nodes from its own on. */
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
            rc =
                shmemi_notify(team, &context, shmemi_leader_world_pe(team, to), &state->mine->collected[round], number);
        if (!rc)
            shmemi_await_leader(team, (me + have) % n, &state->mine->collected[round], number);
    }
    shmemi_leaders_all_entered(team);
    return rc ? rc : shmemi_complete(&context);
}

static int leaders_fcollect(struct shmemi_team *team, const struct shmemi_copy_args *args)
{
    size_t average = start_of(args, team->n_pes) / (size_t)team->n_pes;
    int rc = shmemi_leaders_await_entered(team);
    if (rc)
        return rc;
    switch (shmemi_choose(&team->collective->choices, SHMEMI_COLLECTIVE_leaders_fcollect, average)) {
    case SHMEMI_leaders_fcollect_dissemination:
        return exchange_by_dissemination(team, args);
    default:
        return exchange_directly(team, args);
    }
}

static int fcollect_over_nodes(struct shmemi_team *team, const struct shmemi_copy_args *args)
{
    struct shmemi_context context = {0};
    shmemi_node_await_entered(team, 0, team->collective->number);
    int rc = send_own_block(team, &context, args, shmemi_node_world_pe(team, 0));
    if (!rc)
        rc = shmemi_complete(&context);
    if (rc)
        return rc;
    if (team->node.n > 1) {
        uint64_t number = shmemi_node_enter(team, 0);
        shmemi_node_gather(team, number);
        if (team->node.me == 0)
            shmemi_node_arrive(team, number);
    }
    if (shmemi_is_leader(team))
        rc = leaders_fcollect(team, args);
    return rc ? rc : shmemi_node_spread(team, &args->dest, start_of(args, team->n_pes));
}

int shmemi_fcollect(struct shmemi_team *team, const struct shmemi_copy_args *args)
{
    if (!args->nbytes)
        return 0;
    if (team->leaders.n > 1)
        return fcollect_over_nodes(team, args);
    switch (shmemi_choose_for(&team->collective->choices, SHMEMI_COLLECTIVE_fcollect, shmemi_is_device(&args->dest),
                              args->nbytes)) {
    case SHMEMI_fcollect_eager:
        return shmemi_exchange_eager(team, args, args->nbytes, 0);
    case SHMEMI_fcollect_kernel:
        return fcollect_kernel(team, args);
    default:
        return fcollect_push(team, args);
    }
}

/* ---- collect ----------------------------------------------------------------------------------------------------- */

/* The data of a line: the length of a block, and the block itself if it is short. */
struct parcel {
    uint64_t nbytes;
    char data[SHMEMI_LINE_BYTES - sizeof(uint64_t)];
};

/* Turns the lengths in starts[1..n] into starts. Returns the last one, the total, which is SIZE_MAX on overflow. */
static size_t add_up(uint64_t *starts, int n)
{
    for (int i = 1; i <= n; i++)
        if (__builtin_add_overflow(starts[i - 1], starts[i], &starts[i]))
            return SIZE_MAX;
    return starts[n];
}

static int sum_lengths(struct shmemi_team *team, uint64_t *lengths)
{
    enum { MEMBERS = SHMEMI_CARRIER_BYTES / sizeof(uint64_t) };
    int rc = 0;
    for (int first = 0; first < team->n_pes && !rc; first += MEMBERS) {
        int count = team->n_pes - first < (int)MEMBERS ? team->n_pes - first : (int)MEMBERS;
        rc = shmemi_reduce_private(team, &shmemi_ops[SHMEMI_OP_sum][SHMEMI_KIND_U64], lengths + first, lengths + first,
                                   (size_t)count * sizeof *lengths);
    }
    return rc;
}

/* Fill in the lengths of the other members. */
static int learn_lengths(struct shmemi_team *team, uint64_t *lengths)
{
    const size_t nbytes = (size_t)team->n_pes * sizeof *lengths;
    return shmemi_choose(&team->collective->choices, SHMEMI_COLLECTIVE_leaders_lengths, nbytes) ==
                   SHMEMI_leaders_lengths_sum
               ? sum_lengths(team, lengths)
               : shmemi_gather_words(team, lengths);
}

/* Exchange all lengths, and the blocks of at most `most` bytes, through the lines of a node. */
static int exchange_parcels(struct shmemi_team *team, const struct shmemi_copy_args *args, size_t most,
                            uint64_t *starts, uint64_t *number_p)
{
    struct shmemi_context context = {0};
    uint64_t number = shmemi_node_enter(team, 0);
    struct parcel *mine = (void *)shmemi_node_arrival(team, team->node.me, number, sizeof *mine);
    int rc = 0;
    mine->nbytes = args->nbytes;
    if (args->nbytes && args->nbytes <= most)
        rc = shmemi_read_own(&context, mine->data, &args->source, args->nbytes);
    if (!rc)
        rc = shmemi_complete(&context);
    if (rc)
        return rc;
    shmemi_node_arrive(team, number);
    shmemi_node_await_all(team, number);
    for (int rank = 0; rank < team->node.n; rank++)
        starts[rank + 1] = ((const struct parcel *)shmemi_node_arrival(team, rank, number, sizeof *mine))->nbytes;
    *number_p = number;
    return 0;
}

static int unpack_parcels(struct shmemi_team *team, const struct shmemi_copy_args *args, uint64_t number)
{
    struct shmemi_context context = {0};
    int rc = 0;
    for (int rank = 0; rank < team->node.n && !rc; rank++) {
        const struct parcel *parcel = (const void *)shmemi_node_arrival(team, rank, number, sizeof *parcel);
        if (parcel->nbytes)
            rc = shmemi_copy_to(&context, &args->dest, start_of(args, rank), parcel->data, parcel->nbytes,
                                shmemi_job.pe);
    }
    return rc ? rc : shmemi_complete(&context);
}

static bool all_short(const uint64_t *starts, int n, size_t most)
{
    for (int i = 0; i < n; i++)
        if (starts[i + 1] - starts[i] > most)
            return false;
    return true;
}

static int collect_on_node(const char *routine, struct shmemi_team *team, void *dest, struct shmemi_copy_args *args,
                           uint64_t *starts)
{
    const struct shmemi_region *region = shmemi_region_of(dest);
    const int place = region && region->is_reached_directly ? SHMEMI_IN_DEVICE : SHMEMI_IN_HOST;
    const struct shmemi_step *step = team->collective->choices.step[SHMEMI_COLLECTIVE_collect][place];
    const size_t most = step->algorithm == SHMEMI_collect_eager ? step->most_bytes : 0;
    uint64_t number;
    int rc = exchange_parcels(team, args, most, starts, &number);
    if (rc)
        return rc;
    size_t total = add_up(starts, team->n_pes);
    args->dest = shmemi_symmetric_of(routine, dest, total);
    if (!total)
        return 0;
    return all_short(starts, team->n_pes, most) ? unpack_parcels(team, args, number) : fcollect_push(team, args);
}

static int collect_over_nodes(const char *routine, struct shmemi_team *team, void *dest, struct shmemi_copy_args *args,
                              uint64_t *starts)
{
    starts[team->my_pe + 1] = args->nbytes;
    int rc = learn_lengths(team, starts + 1);
    if (rc)
        return rc;
    size_t total = add_up(starts, team->n_pes);
    args->dest = shmemi_symmetric_of(routine, dest, total);
    return total ? fcollect_over_nodes(team, args) : 0;
}

int shmemi_collect(const char *routine, struct shmemi_team *team, void *dest, struct shmemi_copy_args *args)
{
    uint64_t *starts = calloc((size_t)team->n_pes + 1, sizeof *starts);
    if (!starts) {
        shmemi_error("%s: out of memory for the lengths of %d blocks", routine, team->n_pes);
        return -ENOMEM;
    }
    args->starts = starts;
    int rc = team->leaders.n == 1 ? collect_on_node(routine, team, dest, args, starts)
                                  : collect_over_nodes(routine, team, dest, args, starts);
    free(starts);
    return rc;
}
