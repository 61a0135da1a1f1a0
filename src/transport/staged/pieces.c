/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The size of the pieces of a transfer: the one with which the model of its stages takes the least time.
 */
#include "transport/staged/pieces.h"

enum { UNIT = 4096, SMALLEST = 16 << 10 };

double shmemi_pieces_time(const struct shmemi_stage *stages, unsigned n_stages, size_t nbytes, size_t piece)
{
    double once = 0, slowest = 0;
    size_t count = (nbytes + piece - 1) / piece;
    if (piece > nbytes)
        piece = nbytes;
    for (unsigned i = 0; i < n_stages; i++) {
        double time = stages[i].per_piece + stages[i].per_byte * (double)piece;
        once += time;
        slowest = time > slowest ? time : slowest;
    }
    return once + slowest * (double)(count - 1);
}

/* The size of a piece when the transfer is cut into `count` equal ones. */
static size_t equal_piece(size_t nbytes, size_t count)
{
    size_t piece = (nbytes + count - 1) / count;
    return (piece + UNIT - 1) / UNIT * UNIT;
}

/* The count is doubled until the time grows: past the best count, it only grows further. */
size_t shmemi_piece_size(const struct shmemi_stage *stages, unsigned n_stages, size_t nbytes, size_t most)
{
    if (nbytes <= SMALLEST || most <= SMALLEST)
        return most;
    size_t best = most;
    double least = shmemi_pieces_time(stages, n_stages, nbytes, most);
    for (size_t count = (nbytes + most - 1) / most; equal_piece(nbytes, count) >= SMALLEST; count += (count + 3) / 4) {
        size_t piece = equal_piece(nbytes, count);
        double time = piece <= most ? shmemi_pieces_time(stages, n_stages, nbytes, piece) : least;
        if (time > 1.25 * least)
            break;
        if (time < least) {
            least = time;
            best = piece;
        }
    }
    return best;
}
