/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions. Small arrays go through the workspaces (shmem/coll/sync.c). For longer ones, each member combines a part
 * and writes it into every dest: the CPU block by block so that the sum stays in the cache, a device kernel all at
 * once. This also works in place, since only one member reads and writes each slice. The member's own contribution is
 * the left operand; those of the members after it follow cyclically. Between nodes: each node forms its sum in its
 * leader's dest, the leaders do the same among themselves, and each broadcasts the result in its node. Each element is
 * combined in one place only, so all get the same bits.
 */
#include "shmem/coll/collectives.h"

#include "base/copy_bytes.h"

#include <errno.h>
#include <stdlib.h>

/* One copy between this PE's own memory, of any kind, and private memory. */
static int copy_own_small(struct shmemi_place dest, struct shmemi_place source, size_t nbytes)
{
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    return shmemi_memory_copy(&dest, &source, &shape);
}

/* Sums of numbers of 16 bits, as those of floats. */
static int reduce_wide(struct shmemi_team *team, const struct shmemi_op *op, char *result, const char *contribution,
                       size_t nbytes)
{
    enum { AT_ONCE = SHMEMI_CARRIER_BYTES / sizeof(float) };
    const struct shmemi_op *add = &shmemi_ops[SHMEMI_OP_sum][SHMEMI_KIND_F32];
    float wide[AT_ONCE];
    int rc = 0;
    for (size_t at = 0, nelems; at < nbytes && !rc; at += nelems * op->size) {
        nelems = (nbytes - at) / op->size < AT_ONCE ? (nbytes - at) / op->size : AT_ONCE;
        op->widen(wide, contribution + at, nelems);
        rc = shmemi_reduce_private(team, add, wide, wide, nelems * sizeof(float));
        op->narrow(result + at, wide, nelems);
    }
    return rc;
}

/* A short result is made in private memory and stored into dest word by word, so that who watches dest sees no partial
 * result; a longer one is made in dest. */
static int reduce_small(struct shmemi_team *team, const struct shmemi_reduce_args *args)
{
    _Alignas(SHMEMI_CACHE_LINE) char private[SHMEMI_CARRIER_BYTES];
    const char *contribution = args->source.host ? args->source.host : private;
    char *result = args->dest.host && args->nbytes > SHMEMI_WHOLE_WORDS_MAX ? args->dest.host : private;
    int rc = 0;
    if (!args->source.host)
        rc = copy_own_small(shmemi_place_host(private), shmemi_own_place(&args->source, 0), args->nbytes);
    if (!rc)
        rc = args->op->widen ? reduce_wide(team, args->op, result, contribution, args->nbytes)
                             : shmemi_reduce_private(team, args->op, result, contribution, args->nbytes);
    if (!rc && result == private)
        rc = copy_own_small(shmemi_own_place(&args->dest, 0), shmemi_place_host(private), args->nbytes);
    return rc;
}

static enum shmemi_algorithm choose(const struct shmemi_team *team, const struct shmemi_reduce_args *args)
{
    return shmemi_choose_for(&team->collective->choices, SHMEMI_COLLECTIVE_reduce, shmemi_is_device(&args->dest),
                             args->nbytes);
}

/* ---- inside a node and between nodes ----------------------------------------------------------------------------- */

/* Forms the sum of the node in the dest of all members or, if there are more nodes, of the leader. */
static int reduce_in_node(struct shmemi_team *team, const struct shmemi_reduce_args *args)
{
    struct shmemi_pass pass = {.team = team,
                               .among = &team->node,
                               .op = args->op,
                               .from = &args->source,
                               .to = &args->dest,
                               .n_targets = team->leaders.n > 1 ? 1 : team->node.n};
    if (team->node.n == 1)
        return shmemi_copy_own(&args->dest, &args->source, args->nbytes);
    shmemi_node_sync(team);
    int rc = shmemi_combine_parts(&pass, args->nbytes, choose(team, args) == SHMEMI_reduce_kernel);
    if (!rc)
        shmemi_node_sync(team);
    return rc;
}

static int reduce_between_leaders(struct shmemi_team *team, const struct shmemi_reduce_args *args)
{
    struct shmemi_pass pass = {.team = team,
                               .among = &team->leaders,
                               .op = args->op,
                               .from = &args->dest,
                               .to = &args->dest,
                               .n_targets = team->leaders.n};
    int rc = shmemi_leaders_sync(team);
    if (!rc)
        rc = shmemi_combine_parts(&pass, args->nbytes, false);
    return rc ? rc : shmemi_leaders_sync(team);
}

/* ---- between many nodes: halving and doubling ---------------------------------------------------------------------
 *
 * Leaders are paired at halving distances. Each of a pair takes one half of the range that both still have, and combines
 * the other's bytes of it into its own; in the end each has its part of the sum. Then, at doubling distances, each puts
 * what it has into the dest of its partner. Nobody writes into a dest before its owner has finished reading there: in
 * the second phase a leader writes only into the half that it alone has read in the first. Leaders beyond the largest
 * power of two hand their sum to one below, and get the result at the end. */

struct halving {
    struct shmemi_team *team;
    const struct shmemi_reduce_args *args;
    struct shmemi_context context;
    uint64_t number;
    int power; /* the largest power of two that is not above the number of leaders */
};

/* The bytes of slices first to first + count - 1 of `power` slices. */
static struct shmemi_slice slices_from(const struct halving *halving, int first, int count)
{
    const size_t nbytes = halving->args->nbytes;
    return (struct shmemi_slice){shmemi_slice_of(nbytes, halving->power, first).start,
                                 shmemi_slice_of(nbytes, halving->power, first + count - 1).end};
}

static int tell(struct halving *halving, int leader, _Atomic uint64_t *words, int round)
{
    return shmemi_notify(halving->team, &halving->context, shmemi_leader_world_pe(halving->team, leader), &words[round],
                         halving->number);
}

/* Combine a range of the dest of this leader with the same range of another's. */
static int combine_with(struct halving *halving, int leader, struct shmemi_slice range)
{
    const struct shmemi_team_part *leaders = &halving->team->leaders;
    int members[2] = {leaders->pes[leaders->me], leaders->pes[leader]};
    struct shmemi_team_part pair = {.n = 2, .me = 0, .pes = members};
    struct shmemi_pass pass = {.team = halving->team,
                               .among = &pair,
                               .op = halving->args->op,
                               .from = &halving->args->dest,
                               .to = &halving->args->dest,
                               .n_targets = 1};
    return range.start == range.end ? 0 : shmemi_combine_slice(&pass, &range);
}

static int put_range(struct halving *halving, int leader, struct shmemi_slice range)
{
    const struct shmemi_symmetric *dest = &halving->args->dest;
    if (range.start == range.end)
        return 0;
    return shmemi_send(&halving->context, dest, range.start, dest, range.start, range.end - range.start,
                       shmemi_leader_world_pe(halving->team, leader));
}

static int halve(struct halving *halving, int round)
{
    struct shmemi_workspace *mine = halving->team->collective->mine;
    const int me = halving->team->leaders.me, distance = 1 << round;
    int rc = tell(halving, me ^ distance, mine->reduced, round);
    if (rc)
        return rc;
    shmemi_await_leader(halving->team, me ^ distance, &mine->reduced[round], halving->number);
    return combine_with(halving, me ^ distance, slices_from(halving, me & ~(distance - 1), distance));
}

static int join(struct halving *halving, int round)
{
    struct shmemi_workspace *mine = halving->team->collective->mine;
    const int me = halving->team->leaders.me, distance = 1 << round;
    int rc = put_range(halving, me ^ distance, slices_from(halving, me & ~(distance - 1), distance));
    if (!rc)
        rc = tell(halving, me ^ distance, mine->joined, round);
    if (!rc)
        shmemi_await_leader(halving->team, me ^ distance, &mine->joined[round], halving->number);
    return rc;
}

static int reduce_below_power(struct halving *halving)
{
    struct shmemi_workspace *mine = halving->team->collective->mine;
    const struct shmemi_slice all = {0, halving->args->nbytes};
    const int beyond = halving->team->leaders.me + halving->power;
    const bool has_beyond = beyond < halving->team->leaders.n;
    int rc = 0, round = 0;
    if (has_beyond) {
        shmemi_await_leader(halving->team, beyond, &mine->reduced[SHMEMI_FOLD], halving->number);
        rc = combine_with(halving, beyond, all);
    }
    while (1 << round < halving->power)
        round++;
    const int rounds = round;
    while (--round >= 0 && !rc)
        rc = halve(halving, round);
    for (round = 0; round < rounds && !rc; round++)
        rc = join(halving, round);
    if (has_beyond && !rc)
        rc = put_range(halving, beyond, all);
    if (has_beyond && !rc)
        rc = tell(halving, beyond, mine->reduced, SHMEMI_UNFOLD);
    return rc;
}

static int reduce_beyond_power(struct halving *halving)
{
    struct shmemi_workspace *mine = halving->team->collective->mine;
    const int below = halving->team->leaders.me - halving->power;
    int rc = tell(halving, below, mine->reduced, SHMEMI_FOLD);
    if (!rc)
        shmemi_await_leader(halving->team, below, &mine->reduced[SHMEMI_UNFOLD], halving->number);
    return rc;
}

static int reduce_by_halving(struct shmemi_team *team, const struct shmemi_reduce_args *args)
{
    struct halving halving = {.team = team, .args = args, .number = ++team->collective->leaders_number, .power = 1};
    while (halving.power * 2 <= team->leaders.n)
        halving.power *= 2;
    int rc = team->leaders.me < halving.power ? reduce_below_power(&halving) : reduce_beyond_power(&halving);
    shmemi_leaders_all_entered(team);
    return rc ? rc : shmemi_complete(&halving.context);
}

static int reduce_large(struct shmemi_team *team, const struct shmemi_reduce_args *args)
{
    int rc = reduce_in_node(team, args);
    if (rc || team->leaders.n == 1)
        return rc;
    const bool halves = shmemi_choose(&team->collective->choices, SHMEMI_COLLECTIVE_leaders_reduce, args->nbytes) ==
                        SHMEMI_leaders_reduce_halving;
    if (shmemi_is_leader(team))
        rc = halves ? reduce_by_halving(team, args) : reduce_between_leaders(team, args);
    return rc ? rc : shmemi_node_spread(team, &args->dest, args->nbytes);
}

/* Between nodes, numbers of 16 bits are not summed up node by node, which would round them more than once: each member
 * combines a part from all members. */
static int reduce_wide_over_nodes(struct shmemi_team *team, const struct shmemi_reduce_args *args)
{
    struct shmemi_team_part all = {
        .n = team->n_pes, .me = team->my_pe, .pes = malloc((size_t)team->n_pes * sizeof(int))};
    struct shmemi_pass pass = {
        .team = team, .among = &all, .op = args->op, .from = &args->source, .to = &args->dest, .n_targets = all.n};
    if (!all.pes) {
        shmemi_error("out of memory for a reduction");
        return -ENOMEM;
    }
    for (int i = 0; i < all.n; i++)
        all.pes[i] = i;
    int rc = shmemi_collective_sync(team);
    if (!rc)
        rc = shmemi_combine_parts(&pass, args->nbytes, false);
    free(all.pes);
    return rc ? rc : shmemi_collective_sync(team);
}

/* All members must decide alike, so over several nodes the decision depends only on the size. */
static bool goes_through_workspace(const struct shmemi_team *team, const struct shmemi_reduce_args *args)
{
    const struct shmemi_choices *choices = &team->collective->choices;
    if (team->leaders.n > 1)
        return shmemi_choose(choices, SHMEMI_COLLECTIVE_leaders_reduce, args->nbytes) == SHMEMI_leaders_reduce_doubling;
    enum shmemi_algorithm algorithm = choose(team, args);
    return algorithm == SHMEMI_reduce_flat || algorithm == SHMEMI_reduce_tree;
}

int shmemi_reduce(struct shmemi_team *team, const struct shmemi_reduce_args *args)
{
    if (!args->nbytes)
        return 0;
    if (team->n_pes == 1)
        return shmemi_copy_own(&args->dest, &args->source, args->nbytes);
    if (goes_through_workspace(team, args))
        return reduce_small(team, args);
    return args->op->widen && team->leaders.n > 1 ? reduce_wide_over_nodes(team, args) : reduce_large(team, args);
}
