/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Driver "naive": the paper's baseline. It copies the whole source into host memory first and then sends it piece by
 * piece, so that nothing overlaps; gets likewise.
 */
#include "base/settings.h"
#include "transport/driver.h"
#include "transport/staged/layers.h"
#include "transport/staged/staged.h"

#include <errno.h>
#include <stdlib.h>

static int naive_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    (void)share;
    const bool is_gpu = view->place.memory != &shmemi_memory_host;
    return is_gpu && shmemi_settings.gpu_route == SHMEMI_ROUTE_NAIVE ? 0 : -ENOTSUP;
}

/* Copy the whole source into host memory, then put it piece by piece, waiting for each. */
static int naive_put_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                             const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    if (shape->layer)
        return shmemi_by_layers(naive_put_strided, true, context, view, offset, source, shape, 0);
    char *copy = malloc(shape->width * shape->rows);
    if (!copy)
        return -ENOMEM;
    struct shmemi_place out = shmemi_place_host(copy);
    const struct shmemi_shape dense = shmemi_shape_dense_dest(shape);
    int rc = shmemi_memory_copy(&out, source, &dense);
    struct shmemi_cutter cutter = {.width = shape->width, .rows = shape->rows};
    struct shmemi_piece piece;
    while (!rc && shmemi_cut(&cutter, shmemi_staging.chunk, &piece)) {
        struct shmemi_place from = shmemi_place_host(copy + shmemi_piece_offset(&piece, shape->width));
        struct shmemi_shape part = shmemi_shape_pack(&piece, shape->width);
        part.dest_pitch = shape->dest_pitch;
        rc = shmemi_staged_put_in_pieces(context, view, offset + shmemi_piece_offset(&piece, shape->dest_pitch), &from,
                                         &part, shmemi_staging.chunk);
        if (!rc)
            rc = shmemi_completion_staged.quiet(context);
    }
    free(copy);
    return rc;
}

static int naive_put(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                     const struct shmemi_place *source, size_t nbytes)
{
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    return naive_put_strided(context, view, offset, source, &shape);
}

/* Fetch everything into host memory piece by piece, waiting for each, then copy it to its destination. */
static int naive_get_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                             const struct shmemi_place *dest, const struct shmemi_shape *shape)
{
    if (shape->layer)
        return shmemi_by_layers(naive_get_strided, false, context, view, offset, dest, shape, 0);
    char *copy = malloc(shape->width * shape->rows);
    if (!copy)
        return -ENOMEM;
    struct shmemi_cutter cutter = {.width = shape->width, .rows = shape->rows};
    struct shmemi_piece piece;
    int rc = 0;
    while (!rc && shmemi_cut(&cutter, shmemi_staging.chunk, &piece)) {
        struct shmemi_place to = shmemi_place_host(copy + shmemi_piece_offset(&piece, shape->width));
        struct shmemi_shape part = shmemi_shape_pack(&piece, shape->source_pitch);
        part.dest_pitch = shape->width;
        rc = shmemi_staged_get_in_pieces(context, view, offset + shmemi_piece_offset(&piece, shape->source_pitch), &to,
                                         &part, shmemi_staging.chunk);
    }
    struct shmemi_place in = shmemi_place_host(copy);
    const struct shmemi_shape dense = shmemi_shape_dense_source(shape);
    if (!rc)
        rc = shmemi_memory_copy(dest, &in, &dense);
    free(copy);
    return rc;
}

static int naive_get(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                     const struct shmemi_place *dest, size_t nbytes)
{
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    return naive_get_strided(context, view, offset, dest, &shape);
}

const struct shmemi_driver shmemi_driver_naive = {
    .name = "naive",
    .attach = naive_attach,
    .detach = shmemi_nothing_to_detach,
    .put = naive_put,
    .get = naive_get,
    .put_nbi = naive_put,
    .get_nbi = naive_get,
    .put_strided = naive_put_strided,
    .put_strided_nbi = naive_put_strided,
    .get_strided = naive_get_strided,
    .get_strided_nbi = naive_get_strided,
    .amo = shmemi_staged_amo,
    .amo_nbi = shmemi_staged_amo_nbi,
};
