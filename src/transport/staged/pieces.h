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

#include <stdbool.h>
#include <stddef.h>

struct shmemi_stage {
    double per_piece; /* nanoseconds */
    double per_byte;
};

/* Nanoseconds that a transfer takes in pieces of this size. */
double shmemi_pieces_time(const struct shmemi_stage *stages, unsigned n_stages, size_t nbytes, size_t piece);

/* The size of pieces with which a transfer is fastest: at most `most`, a multiple of 4 KiB unless that is less. */
size_t shmemi_piece_size(const struct shmemi_stage *stages, unsigned n_stages, size_t nbytes, size_t most);

#endif
