/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Boxes, for drivers that do not move all layers of one at once.
 */
#ifndef SHMEMI_LAYERS_H
#define SHMEMI_LAYERS_H

#include "transport/driver.h"

/* Move a transfer that has layers in parts, one after the other: as many layers at once as `most` bytes hold, at least
 * one. Stops at an error. */
int shmemi_by_layers(int (*move)(const struct shmemi_transfer *), const struct shmemi_transfer *transfer, size_t most);

#endif
