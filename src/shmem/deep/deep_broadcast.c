/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shmemx_broadcast_deep: the root walks its objects once, and sends an image to every member, with pointers for that
 * member:
 *
 *      short image      to one member after the other, as by shmemx_put_deep_nbi
 *      otherwise        by the pipeline to all members that are reached in the same way: each piece is packed once, and
 *                       gets the pointers for the next member when it has gone to the one before; in memory that the
 *                       root maps it is packed for one after the other, while its objects are in the caches
 *
 * Then the members agree on the result, by which they also learn that the image is there.
 */
#include "shmem/deep/deep.h"

#include "shmem/coll/call.h"
#include "shmem/team.h"

#include <stdlib.h>

/* Members, in any order, with the images for them. */
struct deep_spread {
    const struct shmemi_deep_put *put;
    const struct shmemi_graph *graph;
    struct shmemi_deep_target *target;
    struct shmemi_image *image;
    struct shmemi_far_side *far;
    size_t n;
};

static void swap(struct deep_spread *spread, size_t i, size_t k)
{
    const struct shmemi_deep_target target = spread->target[i];
    const struct shmemi_image image = spread->image[i];
    const struct shmemi_far_side far = spread->far[i];
    spread->target[i] = spread->target[k];
    spread->image[i] = spread->image[k];
    spread->far[i] = spread->far[k];
    spread->target[k] = target;
    spread->image[k] = image;
    spread->far[k] = far;
}

/* Puts those that are like the first one behind it, and returns how many they are with it. */
static size_t gather_alike(struct deep_spread *spread, size_t first)
{
    size_t n = 1;
    for (size_t i = first + 1; i < spread->n; i++)
        if (shmemi_far_is_like(&spread->far[first], &spread->far[i]))
            swap(spread, first + n++, i);
    return n;
}

static void repack(const void *image, size_t at, char *bytes, size_t nbytes)
{
    shmemi_image_refill(image, at, bytes, nbytes);
}

static int send_pieces(const struct deep_spread *spread, size_t first, size_t n)
{
    struct shmemi_direct_ranges direct;
    shmemi_direct_ranges_open(&direct, spread->graph, 0, spread->graph->size, &spread->far[first]);
    const struct shmemi_pipeline_data data = {.size = spread->graph->size,
                                              .pack = shmemi_deep_pack,
                                              .argument = &spread->image[first],
                                              .pitch = sizeof spread->image[first],
                                              .repack = repack,
                                              .direct = direct.range,
                                              .n_direct = direct.n};
    const int rc = shmemi_pipeline_send(&spread->far[first], n, &data);
    shmemi_direct_ranges_close(&direct);
    return rc;
}

static int send_to_all(struct deep_spread *spread)
{
    const bool is_short = spread->graph->size <= SHMEMI_PIPELINE_SMALL;
    int rc = 0;
    for (size_t i = 0, n = 1; i < spread->n && !rc; i += n) {
        n = is_short ? 1 : gather_alike(spread, i);
        rc =
            is_short ? shmemi_deep_send(spread->put, &spread->target[i], &spread->image[i]) : send_pieces(spread, i, n);
    }
    return rc;
}

/* Nothing is sent before all members are known to be reached. From the root on, so that not all roots begin with the same
 * member. */
static int aim_at_all(struct deep_spread *spread)
{
    const struct shmemi_team *team = spread->put->team;
    int rc = 0;
    for (size_t i = 0; i < spread->n && !rc; i++) {
        const int member = (int)((i + 1 + (size_t)team->my_pe) % spread->n);
        rc = shmemi_deep_aim(spread->put, spread->graph, shmemi_team_world_pe(team, member), &spread->target[i],
                             &spread->image[i]);
        spread->far[i] = shmemi_deep_far(&spread->target[i]);
    }
    return rc;
}

static int put_graph_to_all(const struct shmemi_deep_put *put, const struct shmemi_graph *graph)
{
    const size_t n = (size_t)put->team->n_pes;
    struct deep_spread spread = {
        put, graph, calloc(n, sizeof *spread.target), calloc(n, sizeof *spread.image), calloc(n, sizeof *spread.far),
        n};
    int rc = -ENOMEM;
    if (spread.target && spread.image && spread.far)
        rc = aim_at_all(&spread);
    else
        shmemi_error("%s: out of memory for the images of %zu members", put->routine, n);
    if (!rc)
        rc = send_to_all(&spread);
    shmemi_quiet(&shmemi_default_ctx);
    free(spread.target);
    free(spread.image);
    free(spread.far);
    return rc;
}

/* The root's result on all members. */
static ptrdiff_t agree(struct shmemi_team *team, ptrdiff_t result, bool is_root)
{
    enum { NO_RESULT };
    uint64_t word = is_root ? (uint64_t)result - (uint64_t)PTRDIFF_MIN + 1 : NO_RESULT;
    shmemi_require(shmemi_collective_agree(team, SHMEMI_AGREE_MAX, &word, 1));
    return (ptrdiff_t)(word - 1 + (uint64_t)PTRDIFF_MIN);
}

SHMEMI_EXPORT ptrdiff_t shmemx_broadcast_deep(shmem_team_t handle, void *dest, size_t capacity, const void *source,
                                              shmemx_type_t type, size_t nelems, int root)
{
    static const char routine[] = "shmemx_broadcast_deep";
    struct shmemi_team *team = shmemi_require_team(routine, handle);
    struct shmemi_call call = {.routine = routine, .activity = SHMEMI_AT_COLLECTIVE};
    const struct shmemi_deep_put put = {routine, dest, capacity, source, type, nelems, .team = team};
    const bool is_root = team->my_pe == root;
    shmemi_check_root(routine, team, root);
    shmemi_span_begin(&call);
    ptrdiff_t result = is_root ? shmemi_deep_walk_and_put(&put, put_graph_to_all) : 0;
    result = agree(team, result, is_root);
    shmemi_span_end(&call);
    return result;
}
