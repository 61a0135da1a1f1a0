/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Boxes, for drivers that do not move all layers of one at once.
 */
#ifndef SHMEMI_LAYERS_H
#define SHMEMI_LAYERS_H

#include "transport/driver.h"

#include <stdbool.h>

/* put_strided, get_strided and the like of struct shmemi_driver; mine is this PE's side. */
typedef int (*shmemi_strided_t)(struct shmemi_context *, const struct shmemi_view *, size_t offset,
                                const struct shmemi_place *mine, const struct shmemi_shape *shape);

/* Move a shape that has layers in parts, one after the other: as many layers at once as `most` bytes hold, at least one.
 * Stops at an error. */
int shmemi_by_layers(shmemi_strided_t move, bool is_put, struct shmemi_context *context, const struct shmemi_view *view,
                     size_t offset, const struct shmemi_place *mine, const struct shmemi_shape *shape, size_t most);

#endif
