/* SPDX-License-Identifier: BSD-3-Clause
 *
 * alltoall and alltoalls: each member writes its blocks into every dest; inside a node, small blocks go through the
 * workspaces.
 */
#include "shmem/coll/collectives.h"

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

static int alltoall_push(struct shmemi_team *team, const struct shmemi_copy_args *args)
{
    struct shmemi_context context = SHMEMI_TO_ALL;
    const int n = team->n_pes, me = team->my_pe;
    int rc = await_entered(team);
    for (int i = 0; i < n && !rc; i++) {
        int to = (me + i) % n;
        rc = shmemi_send(&context, &args->dest, (size_t)me * args->nbytes, &args->source, (size_t)to * args->nbytes,
                         args->nbytes, shmemi_team_world_pe(team, to));
    }
    if (!rc)
        rc = shmemi_complete(&context);
    return rc ? rc : shmemi_collective_sync(team);
}

int shmemi_alltoall(struct shmemi_team *team, const struct shmemi_copy_args *args)
{
    if (!args->nbytes)
        return 0;
    const size_t all = (size_t)team->n_pes * args->nbytes;
    if (team->leaders.n == 1 && shmemi_choose_for(&team->collective->choices, SHMEMI_COLLECTIVE_alltoall,
                                                  shmemi_is_device(&args->dest), all) == SHMEMI_alltoall_eager)
        return shmemi_exchange_eager(team, args, all, (size_t)team->my_pe * args->nbytes);
    return alltoall_push(team, args);
}

int shmemi_alltoalls(struct shmemi_team *team, const struct shmemi_copy_args *args,
                     const struct shmemi_alltoall_strides *strides)
{
    struct shmemi_context context = {0};
    const int n = team->n_pes, me = team->my_pe;
    const struct shmemi_shape shape = {.width = strides->size,
                                       .rows = strides->nelems,
                                       .dest_pitch = (size_t)strides->dest * strides->size,
                                       .source_pitch = (size_t)strides->source * strides->size};
    if (!strides->nelems)
        return 0;
    int rc = await_entered(team);
    for (int i = 0; i < n && !rc; i++) {
        int to = (me + i) % n;
        const struct shmemi_view *view = shmemi_region_view(args->dest.region, shmemi_team_world_pe(team, to));
        struct shmemi_place source = shmemi_own_place(&args->source, (size_t)to * strides->nelems * shape.source_pitch);
        size_t offset = args->dest.offset + (size_t)me * strides->nelems * shape.dest_pitch;
        rc = view->driver->put_strided_nbi(&context, view, offset, &source, &shape);
    }
    if (!rc)
        rc = shmemi_complete(&context);
    return rc ? rc : shmemi_collective_sync(team);
}
