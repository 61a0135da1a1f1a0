/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pieces: how large the parts should be into which a transfer is cut.
 *
 * The stages of a transfer (copy out, link, copy in) work on different pieces at the same time. Small pieces let the
 * later stages begin early, large ones have less overhead. Only the origin of a transfer decides on its pieces; an owner
 * takes whatever fits a slot.
 */
#ifndef SHMEMI_PIECES_H
#define SHMEMI_PIECES_H

#include "transport/driver.h"

#include <stddef.h>

/* The size of the pieces of a transfer between memory of the kind `mine` and a view that is served by requests. */
size_t shmemi_piece_choose(const struct shmemi_view *view, const struct shmemi_memory *mine, size_t nbytes);
/* That of a put, whose pieces the link should be able to send at once unless they are many. */
size_t shmemi_piece_choose_put(const struct shmemi_view *view, const struct shmemi_memory *mine, size_t nbytes);
/* That of a transfer to or from host memory of another node which the network reaches without its owner. */
size_t shmemi_piece_choose_bounce(size_t nbytes);

#endif
