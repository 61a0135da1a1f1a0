/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces: how large the parts should be into which a transfer is cut.
 *
 * The stages of the way (copy out, link, copy in) work on different pieces at the same time. Small pieces let the later
 * stages begin early, large ones cost less on the way; what is best follows from what each stage costs per piece and
 * per byte.
 */
#ifndef SHMEMI_PIECES_H
#define SHMEMI_PIECES_H

#include "transport/driver.h"

#include <stddef.h>

struct shmemi_stage {
    double per_piece; /* nanoseconds */
    double per_byte;
};

/* Nanoseconds that a transfer takes in pieces of this size. */
double shmemi_pieces_time(const struct shmemi_stage *stages, unsigned n_stages, size_t nbytes, size_t piece);

/* The size of pieces with which a transfer is fastest: at most `most`, a multiple of 4 KiB unless that is less. */
size_t shmemi_piece_size(const struct shmemi_stage *stages, unsigned n_stages, size_t nbytes, size_t most);

/* ---- piece_costs.c -----------------------------------------------------------------------------------------------
 * What the stages cost on this machine, measured when they are first needed: copies between the staging slots and a
 * kind of memory at the first map of that kind, requests at the first long transfer over a link. Only the origin of a
 * transfer decides on its pieces; an owner takes whatever fits a slot. */

/* Measure copies of a kind, unless that was done: reads up to 1 MiB of an object of it, a few times. Nobody uses the
 * staging slots meanwhile. An object of less than 64 KiB tells nothing and leaves it to the next. */
void shmemi_piece_costs_measure(const struct shmemi_place *place, size_t size);

/* Bytes of the pieces of a transfer between memory of a kind here and a view that is served by requests. */
size_t shmemi_piece_choose(const struct shmemi_view *view, const struct shmemi_memory *mine, size_t nbytes);
/* The same for host memory of another node, which the network reaches without its owner. */
size_t shmemi_piece_choose_bounce(const struct shmemi_memory *mine, size_t nbytes);

#endif
