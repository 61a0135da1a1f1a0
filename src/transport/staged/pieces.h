/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces: how a transfer is cut into parts that fit a staging slot, and how large the parts should be.
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

struct shmemi_piece {
    size_t peer; /* offset of its first byte from the transfer's first on the peer's side */
    size_t mine; /* and on this side */
    size_t width, rows;
};

/* Walks over a shape in pieces: whole rows if they fit, else parts of one row. row and column start at 0. */
struct shmemi_cutter {
    size_t width, rows, peer_pitch, my_pitch;
    size_t most; /* bytes of a piece */
    size_t row, column;
};

/* False at the end. */
bool shmemi_next_piece(struct shmemi_cutter *cutter, struct shmemi_piece *piece_p);

#endif
