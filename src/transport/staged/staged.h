/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the driver "staged" share, and the functions that drivers above it use.
 */
#ifndef SHMEMI_STAGED_H
#define SHMEMI_STAGED_H

#include "transport/driver.h"
#include "transport/request.h"

/* The driver's transfers, of which the puts are in put.c and the gets in get.c; and in pieces of at most `most` bytes,
 * which fit a slot: such a get is complete on return. */
int shmemi_staged_transfer(const struct shmemi_transfer *transfer);
int shmemi_staged_put(const struct shmemi_transfer *put);
int shmemi_staged_get(const struct shmemi_transfer *get);
int shmemi_staged_in_pieces(const struct shmemi_transfer *transfer, size_t most);
int shmemi_staged_put_in_pieces(const struct shmemi_transfer *put, size_t most);
int shmemi_staged_get_in_pieces(const struct shmemi_transfer *get, size_t most);

/* A request for a piece of a transfer, for all rows of it, for contiguous bytes. */
struct shmemi_request shmemi_staged_request(const struct shmemi_transfer *transfer, const struct shmemi_piece *piece,
                                            unsigned slot);
struct shmemi_request shmemi_staged_request_whole(const struct shmemi_transfer *transfer, unsigned slot);
struct shmemi_request shmemi_staged_request_bytes(const struct shmemi_view *view, enum shmemi_request_type type,
                                                  size_t offset, size_t nbytes, unsigned slot);
/* Send a request. Its answer, if any, is copied to its place by quiet, or by a thread that needs the slot. */
int shmemi_staged_send_and_leave(const struct shmemi_view *view, const struct shmemi_request *request,
                                 const struct shmemi_place *dest, const struct shmemi_shape *shape);
/* Send a request that needs no slot. */
int shmemi_staged_send_slotless(const struct shmemi_view *view, struct shmemi_request *request);
/* Wait for a free slot; the caller holds none. */
unsigned shmemi_staged_await_slot(struct shmemi_context *context);
/* Log that the owner has failed. */
void shmemi_staged_report(const struct shmemi_view *view);
/* Called after requests of this context have been sent whose completion quiet has to wait for. */
void shmemi_staged_note_pending(struct shmemi_context *context);

int shmemi_staged_amo(struct shmemi_context *context, const struct shmemi_word_update *update, void *fetch_p,
                      bool is_blocking);

/* A put, and the update of a word of the same PE after it, which its owner carries out. If it is blocking, returns when
 * the source may be reused; otherwise quiet completes it. -ENOTSUP: the owner cannot update the word as others do. */
int shmemi_staged_put_signal(const struct shmemi_transfer *put, const struct shmemi_word_update *word);

#endif
