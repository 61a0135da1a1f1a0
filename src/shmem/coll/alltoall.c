/* SPDX-License-Identifier: BSD-3-Clause
 *
 * alltoall and alltoalls: each member writes its blocks into every dest; inside a node, small blocks go through the
 * workspaces. Over many nodes small blocks are handed on from member to member.
 */
#include "shmem/coll/collectives.h"

#include "base/copy_bytes.h"
#include "base/tuning.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int shmemi_exchange_eager(struct shmemi_team *team, const struct shmemi_copy_args *args, size_t contribution, size_t at)
{
    struct shmemi_context context = {0};
    uint64_t number = shmemi_node_enter(team, contribution);
    int rc = shmemi_read_own(&context, shmemi_node_arrival(team, team->node.me, number, contribution), &args->source,
                             contribution);
    if (!rc)
        rc = shmemi_complete(&context);
    if (rc)
        return rc;
    shmemi_node_arrive(team, number);
    for (int rank = 0; rank < team->node.n && !rc; rank++) {
        shmemi_node_await(team, rank, number);
        rc = shmemi_copy_to(&context, &args->dest, (size_t)rank * args->nbytes,
                            shmemi_node_arrival(team, rank, number, contribution) + at, args->nbytes, shmemi_job.pe);
    }
    shmemi_node_all_entered(team, number);
    return rc ? rc : shmemi_complete(&context);
}

/* Wait until the members' dests may be written. */
static int await_entered(struct shmemi_team *team)
{
    if (team->leaders.n > 1)
        return team->collective->may_lag ? shmemi_collective_sync(team) : 0;
    for (int rank = 0; rank < team->node.n; rank++)
        shmemi_node_await_entered(team, rank, team->collective->number);
    return 0;
}

/* ---- straight to every member ------------------------------------------------------------------------------------ */

/* Blocks are rows of a member's memory: one row each, or the elements of an alltoalls. */
struct blocks {
    struct shmemi_team *team;
    const struct shmemi_copy_args *args;
    size_t width, rows; /* of a block */
    size_t dest_pitch, source_pitch;
};

static struct shmemi_shape shape_of(const struct blocks *blocks, int count)
{
    return (struct shmemi_shape){.width = blocks->width,
                                 .rows = blocks->rows * (size_t)count,
                                 .dest_pitch = blocks->dest_pitch,
                                 .source_pitch = blocks->source_pitch};
}

/* Where the block of, or for, a member begins. */
static size_t at_dest(const struct blocks *blocks, int member)
{
    return (size_t)member * blocks->rows * blocks->dest_pitch;
}

static size_t at_source(const struct blocks *blocks, int member)
{
    return (size_t)member * blocks->rows * blocks->source_pitch;
}

static int send_block(const struct blocks *blocks, struct shmemi_context *context, int to)
{
    const struct shmemi_copy_args *args = blocks->args;
    const int me = blocks->team->my_pe, world_pe = shmemi_team_world_pe(blocks->team, to);
    if (blocks->rows == 1)
        return shmemi_send(context, &args->dest, at_dest(blocks, me), &args->source, at_source(blocks, to),
                           blocks->width, world_pe);
    return shmemi_op_transfer(&(struct shmemi_transfer){
        .context = context,
        .view = shmemi_region_view(args->dest.region, world_pe),
        .offset = args->dest.offset + at_dest(blocks, me),
        .mine = shmemi_own_place(&args->source, at_source(blocks, to)),
        .shape = shape_of(blocks, 1),
        .is_put = true,
    });
}

static int send_own_block(const struct blocks *blocks, struct shmemi_context *context, struct shmemi_event *own)
{
    const struct shmemi_copy_args *args = blocks->args;
    const int me = blocks->team->my_pe;
    if (blocks->rows > 1)
        return send_block(blocks, context, me);
    return shmemi_send_to_self(context, own, &args->dest, at_dest(blocks, me), &args->source, at_source(blocks, me),
                               blocks->width);
}

/* The remote blocks are started first, so that this PE's own is copied while they are under way.
 * With at most SHMEMI_ALLTOALL_AT_A_TIME blocks under way in each of two contexts, if `few`: so many connections are in use at a time. */
static int send_straight(const struct blocks *blocks, bool few)
{
    struct shmemi_context contexts[2] = {SHMEMI_TO_ALL, SHMEMI_TO_ALL};
    struct shmemi_event own = {0};
    const int n = blocks->team->n_pes, me = blocks->team->my_pe;
    int rc = await_entered(blocks->team);
    for (int i = 1; i < n && !rc; i++) {
        struct shmemi_context *context = &contexts[few ? i / SHMEMI_ALLTOALL_AT_A_TIME % 2 : 0];
        if (few && i % SHMEMI_ALLTOALL_AT_A_TIME == 0)
            rc = shmemi_complete(context);
        if (!rc)
            rc = send_block(blocks, context, (me + i) % n);
    }
    if (!rc)
        rc = send_own_block(blocks, &contexts[0], &own);
    for (int i = 0; i < 2 && !rc; i++)
        rc = shmemi_complete(&contexts[i]);
    if (!rc)
        rc = shmemi_own_wait(&own);
    return rc ? rc : shmemi_collective_sync(blocks->team);
}

/* ---- handed on between members: Bruck's algorithm ------------------------------------------------------------------
 *
 * Blocks are kept in the order of the distance that they still have to go. In round k all whose distance has bit k are
 * handed on by 2^k members, and replaced by those that come in. In the end each block is at its distance from where it
 * came. */

/* Move rows between this PE's own memory and private memory, where they lie side by side. */
static int copy_rows(struct shmemi_context *context, const struct shmemi_symmetric *memory, size_t at, char *private,
                     const struct shmemi_shape *shape, bool to_private)
{
    const size_t pitch = to_private ? shape->source_pitch : shape->dest_pitch;
    if (!memory->host)
        return shmemi_op_transfer(&(struct shmemi_transfer){
            .context = context,
            .view = shmemi_region_view(memory->region, shmemi_job.pe),
            .offset = memory->offset + at,
            .mine = shmemi_place_host(private),
            .shape = *shape,
            .is_put = !to_private,
            .is_blocking = true,
        });
    char *row = memory->host + at;
    for (size_t i = 0; i < shape->rows; i++, row += pitch, private += shape->width)
        shmemi_copy_bytes(to_private ? private : row, to_private ? row : private, shape->width);
    return 0;
}

/* The block for the member i after this one becomes block i. */
static int read_source(const struct blocks *blocks, char *have)
{
    struct shmemi_context context = {0};
    const int n = blocks->team->n_pes, me = blocks->team->my_pe;
    struct shmemi_shape last = shape_of(blocks, n - me), first = shape_of(blocks, me);
    last.dest_pitch = first.dest_pitch = blocks->width;
    int rc = copy_rows(&context, &blocks->args->source, at_source(blocks, me), have, &last, true);
    if (!rc && me)
        rc = copy_rows(&context, &blocks->args->source, 0, have + last.rows * last.width, &first, true);
    return rc ? rc : shmemi_complete(&context);
}

/* Block i has come from the member i before this one. */
static int write_dest(const struct blocks *blocks, const char *have, char *sorted)
{
    struct shmemi_context context = {0};
    const int n = blocks->team->n_pes, me = blocks->team->my_pe;
    const size_t nbytes = blocks->width * blocks->rows;
    struct shmemi_shape all = shape_of(blocks, n);
    all.source_pitch = blocks->width;
    for (int i = 0; i < n; i++)
        memcpy(sorted + (size_t)((me - i + n) % n) * nbytes, have + (size_t)i * nbytes, nbytes);
    int rc = copy_rows(&context, &blocks->args->dest, 0, sorted, &all, false);
    return rc ? rc : shmemi_complete(&context);
}

/* Blocks whose distance has the bit of the round, side by side, to or from all blocks. Returns how many there are. */
static size_t pick(int n, int round, size_t nbytes, char *all, char *picked, bool put_back)
{
    size_t count = 0;
    for (int i = 1 << round; i < n; i++) {
        if (!(i >> round & 1))
            continue;
        char *block = all + (size_t)i * nbytes, *other = picked + count++ * nbytes;
        memcpy(put_back ? block : other, put_back ? other : block, nbytes);
    }
    return count;
}

static int hand_on(const struct blocks *blocks, char *have, char *out)
{
    const int n = blocks->team->n_pes;
    const size_t nbytes = blocks->width * blocks->rows;
    char *in = out + (size_t)(n / 2) * nbytes;
    struct shmemi_rounds rounds = {.team = blocks->team, .n = shmemi_rounds_of(n)};
    for (int round = 0; round < rounds.n; round++)
        rounds.bytes[round] = pick(n, round, nbytes, have, out, false) * nbytes;
    int rc = shmemi_rounds_begin(&rounds, blocks->dest_pitch == blocks->width ? &blocks->args->dest : NULL,
                                 (size_t)n * nbytes);
    for (int round = 0; round < rounds.n && !rc; round++) {
        pick(n, round, nbytes, have, out, false);
        rc = shmemi_rounds_next(&rounds, round, out, in);
        pick(n, round, nbytes, have, in, true);
    }
    return rc ? rc : shmemi_rounds_end(&rounds);
}

static int alltoall_bruck(const struct blocks *blocks)
{
    const size_t all = blocks->width * blocks->rows * (size_t)blocks->team->n_pes;
    char *have = malloc(2 * all);
    if (!have) {
        shmemi_error("out of memory for an exchange of %zu bytes", all);
        return -ENOMEM;
    }
    int rc = read_source(blocks, have);
    if (!rc)
        rc = hand_on(blocks, have, have + all);
    if (!rc)
        rc = write_dest(blocks, have, have + all);
    free(have);
    return rc;
}

/* ---- the collectives --------------------------------------------------------------------------------------------- */

static int exchange(const struct blocks *blocks)
{
    const struct shmemi_team *team = blocks->team;
    if (team->leaders.n == 1)
        return send_straight(blocks, false);
    enum shmemi_algorithm algorithm =
        shmemi_choose(&team->collective->choices, SHMEMI_COLLECTIVE_leaders_alltoall, blocks->width * blocks->rows);
    return algorithm == SHMEMI_leaders_alltoall_bruck
               ? alltoall_bruck(blocks)
               : send_straight(blocks, algorithm == SHMEMI_leaders_alltoall_pairwise);
}

int shmemi_alltoall(struct shmemi_team *team, const struct shmemi_copy_args *args)
{
    const struct blocks blocks = {team, args, args->nbytes, 1, args->nbytes, args->nbytes};
    if (!args->nbytes)
        return 0;
    const size_t all = (size_t)team->n_pes * args->nbytes;
    if (team->leaders.n == 1 && shmemi_choose_for(&team->collective->choices, SHMEMI_COLLECTIVE_alltoall,
                                                  shmemi_is_device(&args->dest), all) == SHMEMI_alltoall_eager)
        return shmemi_exchange_eager(team, args, all, (size_t)team->my_pe * args->nbytes);
    return exchange(&blocks);
}

int shmemi_alltoalls(struct shmemi_team *team, const struct shmemi_copy_args *args,
                     const struct shmemi_collective_args *strides)
{
    const struct blocks blocks = {team,
                                  args,
                                  strides->size,
                                  strides->nelems,
                                  (size_t)strides->dst * strides->size,
                                  (size_t)strides->sst * strides->size};
    return strides->nelems ? exchange(&blocks) : 0;
}
