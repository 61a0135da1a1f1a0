/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces: how large the parts should be into which a transfer is cut.
 *
 * The stages of a transfer (copy out, link, copy in) work on different pieces at the same time. Small pieces let the
 * later stages begin early, large ones have less overhead; the best size follows from what each stage costs per piece
 * and per byte.
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

/* The size of pieces with which a transfer is fastest: at most `most`; a multiple of 4 KiB unless `most` is less. */
size_t shmemi_piece_size(const struct shmemi_stage *stages, unsigned n_stages, size_t nbytes, size_t most);

/* ---- piece_costs.c -----------------------------------------------------------------------------------------------
 * What the stages cost on this machine, measured when they are first needed: copies between the staging slots and a
 * kind of memory at the first map of that kind, requests at the first long transfer over a link. Only the origin of a
 * transfer decides on its pieces; an owner takes whatever fits a slot. */

/* Measure copies of a kind of memory, once: reads up to 1 MiB of an object of that kind, a few times. The staging slots
 * must not be in use. An object of less than 64 KiB is too small to measure; the next one may serve. */
void shmemi_piece_costs_measure(const struct shmemi_place *place, size_t size);

/* The size of the pieces of a transfer between memory of the kind `mine` and a view that is served by requests. */
size_t shmemi_piece_choose(const struct shmemi_view *view, const struct shmemi_memory *mine, size_t nbytes);
/* The size of the pieces of a put, which the link should be able to send without announcing them, unless they are many. */
size_t shmemi_piece_choose_put(const struct shmemi_view *view, const struct shmemi_memory *mine, size_t nbytes);
/* The size of the pieces of a transfer through bounce buffers, to host memory of another node that the network reaches
 * without its owner. */
size_t shmemi_piece_choose_bounce(const struct shmemi_memory *mine, size_t nbytes);

#endif
