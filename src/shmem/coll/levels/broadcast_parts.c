/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A broadcast inside a node by parts: each member but the root takes its part of the root's source, and writes it into the
 * dests of all of them. So no member sends more than one copy of the whole, and none receives more. One device kernel does
 * a part where it reaches all that memory: it reads the root's bytes once, and stores them in every dest.
 */
#include "shmem/coll/collectives.h"

#include <errno.h>

/* The part's number, from the root on, and the rank of a part's member. */
static int part_of(const struct shmemi_parts *parts, int rank)
{
    return (rank - parts->root - 1 + parts->team->node.n) % parts->team->node.n;
}

static int rank_of(const struct shmemi_parts *parts, int part)
{
    return (parts->root + 1 + part) % parts->team->node.n;
}

/* First into this member's own dest, from where it goes to the others. */
static int spread_by_transfers(const struct shmemi_parts *parts, struct shmemi_slice part)
{
    const struct shmemi_team *team = parts->team;
    struct shmemi_context context = SHMEMI_TO_ALL;
    const size_t nbytes = part.end - part.start;
    const int others = team->node.n - 2, mine = part_of(parts, team->node.me);
    int rc = shmemi_fetch(&context, parts->dest, part.start, parts->source, part.start, nbytes,
                          shmemi_node_world_pe(team, parts->root));
    if (!rc)
        rc = shmemi_complete(&context);
    for (int i = 1; i <= others && !rc; i++)
        rc = shmemi_send(&context, parts->dest, part.start, parts->dest, part.start, nbytes,
                         shmemi_node_world_pe(team, rank_of(parts, (mine + i) % (others + 1))));
    return rc ? rc : shmemi_complete(&context);
}

static int spread_by_device(const struct shmemi_parts *parts, struct shmemi_slice part)
{
    const struct shmemi_team *team = parts->team;
    struct shmemi_place source, dest[SHMEMI_COMBINE_ARRAYS];
    const int n = team->node.n - 1, mine = part_of(parts, team->node.me);
    if (n > SHMEMI_COMBINE_ARRAYS ||
        !shmemi_device_place(parts->source, part.start, shmemi_node_world_pe(team, parts->root), &source))
        return -ENOTSUP;
    for (int i = 0; i < n; i++)
        if (!shmemi_device_place(parts->dest, part.start, shmemi_node_world_pe(team, rank_of(parts, (mine + i) % n)),
                                 &dest[i]))
            return -ENOTSUP;
    return shmemi_copy_by_device(&source, dest, n, part.end - part.start);
}

static int spread_part(const struct shmemi_parts *parts)
{
    const int n = parts->team->node.n - 1;
    const struct shmemi_slice part = shmemi_slice_of(parts->nbytes, n, part_of(parts, parts->team->node.me));
    if (part.start == part.end)
        return 0;
    const int rc = spread_by_device(parts, part);
    return rc == -ENOTSUP ? spread_by_transfers(parts, part) : rc;
}

/* The root's own dest, or, if the others cannot read its source, all dests. */
static int send_from_root(const struct shmemi_parts *parts, bool to_all)
{
    struct shmemi_context context = {0};
    const int n = parts->team->node.n;
    int rc = 0;
    for (int i = parts->root_keeps_dest; i < (to_all ? n : 1) && !rc; i++)
        rc = shmemi_send(&context, parts->dest, 0, parts->source, 0, parts->nbytes,
                         shmemi_node_world_pe(parts->team, (parts->root + i) % n));
    return rc ? rc : shmemi_complete(&context);
}

/* Whether the root's source is private, which its line says when it arrives. */
static bool *root_is_private(const struct shmemi_parts *parts)
{
    return (bool *)shmemi_node_arrival(parts->team, parts->root, parts->number, sizeof(bool));
}

int shmemi_broadcast_parts(const struct shmemi_parts *parts)
{
    struct shmemi_team *team = parts->team;
    const bool is_root = team->node.me == parts->root;
    int rc = 0;
    if (is_root)
        *root_is_private(parts) = shmemi_is_private(parts->source);
    shmemi_node_arrive(team, parts->number);
    shmemi_node_await_all(team, parts->number);
    const bool is_private = *root_is_private(parts);
    if (is_root)
        rc = send_from_root(parts, is_private);
    else if (!is_private && shmemi_is_private(parts->source))
        shmemi_fatal("broadcast: the source is symmetric on the root but not on this PE");
    else if (!is_private)
        rc = spread_part(parts);
    if (!rc)
        shmemi_node_sync(team);
    return rc;
}
