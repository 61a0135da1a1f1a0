/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the stages of a staged transfer cost on this machine, measured when they are first needed: copies between the
 * staging slots and a kind of memory at the first map of that kind, requests at the first long transfer over a link.
 * Only the origin of a transfer decides on its pieces; an owner takes whatever fits a slot.
 */
#ifndef SHMEMI_PIECE_COSTS_H
#define SHMEMI_PIECE_COSTS_H

#include "transport/driver.h"
#include "transport/staged/pieces.h"

/* Measure copies of a kind, unless that was done: reads up to 1 MiB of an object of it, a few times. Nobody uses the
 * staging slots meanwhile. An object of less than 64 KiB tells nothing and leaves it to the next. */
void shmemi_piece_costs_measure(const struct shmemi_place *place, size_t size);

/* Bytes of the pieces of a transfer between memory of a kind here and a view that is served by requests. */
size_t shmemi_piece_choose(const struct shmemi_view *view, const struct shmemi_memory *mine, size_t nbytes);
/* The same for host memory of another node, which the network reaches without its owner. */
size_t shmemi_piece_choose_bounce(const struct shmemi_memory *mine, size_t nbytes);

#endif
