/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cuts a 3-D transfer into parts of whole layers.
 */
#include "transport/staged/layers.h"

int shmemi_by_layers(shmemi_strided_t move, bool is_put, struct shmemi_context *context, const struct shmemi_view *view,
                     size_t offset, const struct shmemi_place *mine, const struct shmemi_shape *shape, size_t most)
{
    const size_t dest_step = shmemi_shape_dest_layer(shape), source_step = shmemi_shape_source_layer(shape);
    const size_t fit = most / (shape->layer * shape->width), layers = shmemi_shape_layers(shape);
    struct shmemi_place here = *mine;
    int rc = 0;
    for (size_t done = 0, n; done < layers && !rc; done += n) {
        n = fit == 0 ? 1 : fit < layers - done ? fit : layers - done;
        const struct shmemi_shape part = shmemi_shape_some(shape, n);
        rc = move(context, view, offset, &here, &part);
        offset += n * (is_put ? dest_step : source_step);
        here.address += n * (is_put ? source_step : dest_step);
    }
    return rc;
}
