/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scans: prefix sums in the order of the team. On one node each member adds up the workspaces of those before it or,
 * for longer arrays, scans a part of the elements for all. Over several nodes, where a team's order need not follow the
 * nodes, each partial sum covers twice as many members after each round (levels/rounds.c).
 */
#include "shmem/coll/collectives.h"

#include "base/copy_bytes.h"
#include "base/tuning.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct scan {
    struct shmemi_team *team;
    const struct shmemi_op *op;
    const struct shmemi_symmetric *dest, *source;
    bool exclusive;
    struct shmemi_context context;
};

/* ---- through the workspaces of a node ---------------------------------------------------------------------------- */

static int scan_flat(struct scan *scan, size_t nbytes)
{
    struct shmemi_team *team = scan->team;
    const int count = team->node.me + !scan->exclusive; /* number of members whose sum this PE needs */
    _Alignas(SHMEMI_CACHE_LINE) char private[SHMEMI_CARRIER_BYTES];
    char *sum = scan->dest->host && nbytes > SHMEMI_WHOLE_WORDS_MAX ? scan->dest->host : private;
    uint64_t number = shmemi_node_enter(team, nbytes);
    int rc = shmemi_copy_from(&scan->context, shmemi_node_arrival(team, team->node.me, number, nbytes), scan->source, 0,
                              nbytes, shmemi_job.pe);
    if (!rc)
        rc = shmemi_complete(&scan->context);
    if (rc)
        return rc;
    shmemi_node_arrive(team, number);
    if (!count)
        memset(sum, 0, nbytes);
    for (int rank = 0; rank < count; rank++) {
        const char *theirs = shmemi_node_arrival(team, rank, number, nbytes);
        shmemi_node_await(team, rank, number);
        if (rank == 0)
            shmemi_copy_bytes(sum, theirs, nbytes);
        else
            shmemi_combine(scan->op, sum, sum, theirs, nbytes);
    }
    if (sum == private)
        rc = shmemi_copy_to(&scan->context, scan->dest, 0, sum, nbytes, shmemi_job.pe);
    return rc ? rc : shmemi_complete(&scan->context);
}

/* ---- a part for each --------------------------------------------------------------------------------------------- */

/* The sum of the ranks so far, room for the next sum, and room for a block that is not mapped. */
struct running {
    char *sum, *next, *fetched;
};

static int add_rank(struct scan *scan, struct running *running, int rank, size_t at, size_t nbytes)
{
    const int world_pe = shmemi_node_world_pe(scan->team, rank);
    const char *mapped = shmemi_mapped_copy(scan->source, world_pe), *theirs = mapped ? mapped + at : running->fetched;
    int rc = mapped ? 0 : shmemi_copy_from(&scan->context, running->fetched, scan->source, at, nbytes, world_pe);
    if (!rc)
        rc = shmemi_complete(&scan->context);
    if (rc)
        return rc;
    if (rank == 0)
        memcpy(running->next, theirs, nbytes);
    else
        shmemi_combine(scan->op, running->next, running->sum, theirs, nbytes);
    rc = shmemi_copy_to(&scan->context, scan->dest, at, scan->exclusive ? running->sum : running->next, nbytes,
                        world_pe);
    char *sum = running->sum;
    running->sum = running->next;
    running->next = sum;
    return rc ? rc : shmemi_complete(&scan->context);
}

static size_t block_bytes(const struct scan *scan, size_t slice_bytes)
{
    bool mapped = true;
    for (int rank = 0; rank < scan->team->node.n && mapped; rank++)
        mapped = shmemi_mapped_copy(scan->source, shmemi_node_world_pe(scan->team, rank));
    if (mapped || slice_bytes < SHMEMI_COMBINE_BLOCK)
        return SHMEMI_COMBINE_BLOCK;
    if (slice_bytes > SHMEMI_COMBINE_FAR_BLOCK)
        return SHMEMI_COMBINE_FAR_BLOCK;
    return (slice_bytes + SHMEMI_CACHE_LINE - 1) / SHMEMI_CACHE_LINE * SHMEMI_CACHE_LINE;
}

static int scan_slice_by_cpu(struct scan *scan, const struct shmemi_slice *slice)
{
    const size_t block = block_bytes(scan, slice->end - slice->start);
    char *buffer = aligned_alloc(SHMEMI_CACHE_LINE, 3 * block);
    int rc = 0;
    if (!buffer) {
        shmemi_error("out of memory for a scan");
        return -ENOMEM;
    }
    for (size_t at = slice->start, nbytes; at < slice->end && !rc; at += nbytes) {
        struct running running = {buffer, buffer + block, buffer + 2 * block};
        nbytes = slice->end - at < block ? slice->end - at : block;
        memset(running.sum, 0, nbytes);
        for (int rank = 0; rank < scan->team->node.n && !rc; rank++)
            rc = add_rank(scan, &running, rank, at, nbytes);
    }
    free(buffer);
    return rc;
}

static int scan_slice_by_device(const struct scan *scan, const struct shmemi_slice *slice)
{
    struct shmemi_device_work work = {.team = scan->team,
                                      .among = &scan->team->node,
                                      .op = scan->op,
                                      .form = scan->exclusive ? SHMEMI_COMBINE_EXCLUSIVE : SHMEMI_COMBINE_INCLUSIVE,
                                      .from = scan->source,
                                      .to = scan->dest,
                                      .n_targets = scan->team->node.n};
    return shmemi_combine_by_device(&work, slice->start, slice->end - slice->start);
}

static int scan_by_parts(struct scan *scan, size_t nbytes, bool by_device)
{
    struct shmemi_slice slice = shmemi_slice_of(nbytes, scan->team->node.n, scan->team->node.me);
    int rc = slice.start < slice.end ? -ENOTSUP : 0;
    shmemi_node_sync(scan->team);
    if (rc && by_device)
        rc = scan_slice_by_device(scan, &slice);
    if (rc == -ENOTSUP)
        rc = scan_slice_by_cpu(scan, &slice);
    if (!rc)
        shmemi_node_sync(scan->team);
    return rc;
}

/* ---- over several nodes ------------------------------------------------------------------------------------------
 *
 * In each round a member hands the sum of those up to itself, as far as it knows it, to the member 2^round after it. The
 * first members get sums of the last ones, which they do not use. */

/* The state of one segment of the array. */
struct scan_doubling {
    char *sum;    /* of the members from some member up to this one */
    char *before; /* of those before this one */
    char *theirs; /* what has come */
    bool has_before;
};

static int allocate(struct scan_doubling *doubling, size_t nbytes)
{
    const size_t each = (nbytes + SHMEMI_CACHE_LINE - 1) / SHMEMI_CACHE_LINE * SHMEMI_CACHE_LINE;
    doubling->sum = aligned_alloc(SHMEMI_CACHE_LINE, 3 * each);
    if (!doubling->sum) {
        shmemi_error("out of memory for a scan");
        return -ENOMEM;
    }
    doubling->before = doubling->sum + each;
    doubling->theirs = doubling->before + each;
    return 0;
}

static void add_theirs(const struct scan *scan, struct scan_doubling *doubling, size_t nbytes)
{
    shmemi_combine(scan->op, doubling->sum, doubling->theirs, doubling->sum, nbytes);
    if (doubling->has_before)
        shmemi_combine(scan->op, doubling->before, doubling->theirs, doubling->before, nbytes);
    else
        memcpy(doubling->before, doubling->theirs, nbytes);
    doubling->has_before = true;
}

static int double_reach(struct scan *scan, struct scan_doubling *doubling, size_t at, size_t nbytes)
{
    struct shmemi_rounds rounds = {.team = scan->team, .n = shmemi_rounds_of(scan->team->n_pes)};
    struct shmemi_symmetric landing = *scan->dest;
    landing.offset += at;
    landing.host = landing.host ? landing.host + at : NULL;
    for (int round = 0; round < rounds.n; round++)
        rounds.bytes[round] = nbytes;
    int rc = shmemi_rounds_begin(&rounds, &landing, nbytes);
    for (int round = 0; round < rounds.n && !rc; round++) {
        rc = shmemi_rounds_next(&rounds, round, doubling->sum, doubling->theirs);
        if (!rc && scan->team->my_pe >> round)
            add_theirs(scan, doubling, nbytes);
    }
    return rc ? rc : shmemi_rounds_end(&rounds);
}

static int scan_segment(struct scan *scan, struct scan_doubling *doubling, size_t at, size_t nbytes)
{
    int rc = shmemi_copy_from(&scan->context, doubling->sum, scan->source, at, nbytes, shmemi_job.pe);
    if (!rc)
        rc = shmemi_complete(&scan->context);
    doubling->has_before = false;
    memset(doubling->before, 0, nbytes);
    if (!rc)
        rc = double_reach(scan, doubling, at, nbytes);
    if (!rc)
        rc = shmemi_copy_to(&scan->context, scan->dest, at, scan->exclusive ? doubling->before : doubling->sum, nbytes,
                            shmemi_job.pe);
    return rc ? rc : shmemi_complete(&scan->context);
}

static int scan_over_nodes(struct scan *scan, size_t nbytes)
{
    struct scan_doubling doubling;
    int rc = allocate(&doubling, nbytes < SHMEMI_SCAN_SEGMENT ? nbytes : SHMEMI_SCAN_SEGMENT);
    if (rc)
        return rc;
    for (size_t at = 0, segment; at < nbytes && !rc; at += segment) {
        segment = nbytes - at < SHMEMI_SCAN_SEGMENT ? nbytes - at : SHMEMI_SCAN_SEGMENT;
        rc = scan_segment(scan, &doubling, at, segment);
    }
    free(doubling.sum);
    return rc;
}

int shmemi_scan(struct shmemi_team *team, const struct shmemi_reduce_args *args, bool exclusive)
{
    struct scan scan = {
        .team = team, .op = args->op, .dest = &args->dest, .source = &args->source, .exclusive = exclusive};
    if (!args->nbytes)
        return 0;
    if (team->leaders.n > 1)
        return scan_over_nodes(&scan, args->nbytes);
    enum shmemi_algorithm algorithm = shmemi_choose_for(&team->collective->choices, SHMEMI_COLLECTIVE_scan,
                                                        shmemi_is_device(&args->dest), args->nbytes);
    if (algorithm == SHMEMI_scan_flat)
        return scan_flat(&scan, args->nbytes);
    return scan_by_parts(&scan, args->nbytes, algorithm == SHMEMI_scan_kernel);
}
