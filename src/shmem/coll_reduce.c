/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions. What fits into the workspaces goes through them (coll_sync.c). Of longer arrays each member combines a
 * part and writes it into every dest: the CPU block by block so that the sum stays in the cache, a device kernel all at
 * once. In place that is safe since a member alone reads and writes its part. Its own contribution is the left operand,
 * those of the members after it follow cyclically. Between nodes: each node makes its sum in its leader's dest, the
 * leaders do the same among each other, and each broadcasts the result in its node. Each element is combined at one
 * place only, so all get the same bits.
 */
#include "shmem/collectives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Between this PE's own memory, of whatever kind, and private memory: one copy. */
static int copy_own_small(struct shmemi_place dest, struct shmemi_place source, size_t nbytes)
{
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    return shmemi_memory_copy(&dest, &source, &shape);
}

static int reduce_small(struct shmemi_team *team, const struct shmemi_reduce_args *args)
{
    _Alignas(SHMEMI_CACHE_LINE) char private[SHMEMI_CARRIER_BYTES];
    const char *contribution = args->source.host ? args->source.host : private;
    char *result = args->dest.host ? args->dest.host : private;
    int rc = 0;
    if (!args->source.host)
        rc = copy_own_small(shmemi_place_host(private), shmemi_own_place(&args->source, 0), args->nbytes);
    if (!rc)
        rc = shmemi_reduce_private(team, args->op, result, contribution, args->nbytes);
    if (!rc && !args->dest.host)
        rc = copy_own_small(shmemi_own_place(&args->dest, 0), shmemi_place_host(private), args->nbytes);
    return rc;
}

/* ---- a part for each --------------------------------------------------------------------------------------------- */

enum {
    BLOCK_BYTES = 16384,
    FETCHES = 4, /* blocks that are fetched at a time */
};

/* One member's work on its part: `among` are those whose `from` it combines, into `to` of the first n_targets. */
struct pass {
    struct shmemi_team *team;
    const struct shmemi_team_part *among;
    const struct shmemi_op *op;
    const struct shmemi_symmetric *from, *to;
    int n_targets;
    struct shmemi_context context;
    char *buffer; /* the sum, when own dest is not host memory, and what has been fetched */
};

static int pass_world_pe(const struct pass *pass, int i)
{
    return shmemi_team_world_pe(pass->team, pass->among->pes[i]);
}

/* Bytes of a member's copy, in place when it is mapped, otherwise fetched by the next quiet. */
static int see_block(struct pass *pass, int i, size_t at, size_t nbytes, int slot, const char **block_p)
{
    const char *mapped = shmemi_mapped_copy(pass->from, pass_world_pe(pass, i));
    char *fetched = pass->buffer + (size_t)slot * BLOCK_BYTES;
    *block_p = mapped ? mapped + at : fetched;
    return mapped ? 0 : shmemi_copy_from(&pass->context, fetched, pass->from, at, nbytes, pass_world_pe(pass, i));
}

/* This PE's own contribution comes first: its memory may be where the sum goes. */
static int combine_block(struct pass *pass, char *sum, size_t at, size_t nbytes)
{
    const int n = pass->among->n, me = pass->among->me;
    const char *left, *right[FETCHES];
    int rc = see_block(pass, me, at, nbytes, FETCHES, &left);
    for (int i = 1; i < n && !rc; i += FETCHES) {
        int count = n - i < FETCHES ? n - i : FETCHES;
        for (int k = 0; k < count && !rc; k++)
            rc = see_block(pass, (me + i + k) % n, at, nbytes, k, &right[k]);
        if (!rc)
            rc = shmemi_complete(&pass->context);
        for (int k = 0; k < count && !rc; k++) {
            shmemi_combine(pass->op, sum, left, right[k], nbytes);
            left = sum;
        }
    }
    return rc;
}

static int deliver_block(struct pass *pass, const char *sum, size_t at, size_t nbytes)
{
    const int me = pass->among->me;
    int rc = 0;
    for (int i = 0; i < pass->n_targets && !rc; i++) {
        int target = (me + i) % pass->n_targets;
        if (target != me || !pass->to->host)
            rc = shmemi_copy_to(&pass->context, pass->to, at, sum, nbytes, pass_world_pe(pass, target));
    }
    return !rc && !pass->to->host ? shmemi_complete(&pass->context) : rc;
}

static int do_part(struct pass *pass, const struct shmemi_part *part)
{
    int rc = 0;
    for (size_t at = part->start, nbytes; at < part->end && !rc; at += nbytes) {
        char *sum = pass->to->host ? pass->to->host + at : pass->buffer + (FETCHES + 1) * BLOCK_BYTES;
        nbytes = part->end - at < BLOCK_BYTES ? part->end - at : BLOCK_BYTES;
        rc = combine_block(pass, sum, at, nbytes);
        if (!rc)
            rc = deliver_block(pass, sum, at, nbytes);
    }
    return rc ? rc : shmemi_complete(&pass->context);
}

static bool all_mapped(const struct pass *pass)
{
    bool mapped = pass->to->host;
    for (int i = 0; i < pass->among->n && mapped; i++)
        mapped = shmemi_mapped_copy(pass->from, pass_world_pe(pass, i));
    return mapped;
}

static int do_part_by_cpu(struct pass *pass, const struct shmemi_part *part)
{
    if (!all_mapped(pass)) {
        pass->buffer = aligned_alloc(SHMEMI_CACHE_LINE, (FETCHES + 2) * BLOCK_BYTES);
        if (!pass->buffer) {
            shmemi_error("out of memory for a reduction");
            return -ENOMEM;
        }
    }
    int rc = do_part(pass, part);
    free(pass->buffer);
    return rc;
}

/* In the order in which the CPU would combine: the bits do not depend on who does it. */
static int do_part_by_device(const struct pass *pass, const struct shmemi_part *part)
{
    struct shmemi_device_work work = {.team = pass->team, .among = pass->among, .op = pass->op,
                                      .form = SHMEMI_COMBINE_ALL, .from = pass->from, .to = pass->to,
                                      .first = pass->among->me, .n_targets = pass->n_targets};
    return shmemi_combine_by_device(&work, part->start, part->end - part->start);
}

static int reduce_parts(struct pass *pass, size_t nbytes, bool by_device)
{
    struct shmemi_part part = shmemi_part_of(nbytes, pass->among->n, pass->among->me);
    int rc = -ENOTSUP;
    if (part.start == part.end)
        return 0;
    if (by_device)
        rc = do_part_by_device(pass, &part);
    return rc == -ENOTSUP ? do_part_by_cpu(pass, &part) : rc;
}

static enum shmemi_algorithm choose(const struct shmemi_team *team, const struct shmemi_reduce_args *args)
{
    return shmemi_choose_for(&team->collective->choices, SHMEMI_COLLECTIVE_reduce, shmemi_is_device(&args->dest),
                             args->nbytes);
}

/* ---- inside a node and between nodes ----------------------------------------------------------------------------- */

/* The sum of the node, in the dest of all members or, when there are more nodes, of the leader. */
static int reduce_in_node(struct shmemi_team *team, const struct shmemi_reduce_args *args)
{
    struct pass pass = {.team = team, .among = &team->node, .op = args->op, .from = &args->source, .to = &args->dest,
                        .n_targets = team->leaders.n > 1 ? 1 : team->node.n};
    if (team->node.n == 1)
        return shmemi_copy_own(&args->dest, &args->source, args->nbytes);
    shmemi_node_sync(team);
    int rc = reduce_parts(&pass, args->nbytes, choose(team, args) == SHMEMI_reduce_kernel);
    if (!rc)
        shmemi_node_sync(team);
    return rc;
}

static int reduce_between_leaders(struct shmemi_team *team, const struct shmemi_reduce_args *args)
{
    struct pass pass = {.team = team, .among = &team->leaders, .op = args->op, .from = &args->dest, .to = &args->dest,
                        .n_targets = team->leaders.n};
    int rc = shmemi_leaders_sync(team);
    if (!rc)
        rc = reduce_parts(&pass, args->nbytes, false);
    return rc ? rc : shmemi_leaders_sync(team);
}

static int reduce_large(struct shmemi_team *team, const struct shmemi_reduce_args *args)
{
    int rc = reduce_in_node(team, args);
    if (rc || team->leaders.n == 1)
        return rc;
    if (shmemi_is_leader(team))
        rc = reduce_between_leaders(team, args);
    return rc ? rc : shmemi_node_spread(team, &args->dest, args->nbytes);
}

/* The same answer on all members: on several nodes it depends on their number alone. */
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
    return goes_through_workspace(team, args) ? reduce_small(team, args) : reduce_large(team, args);
}
