/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the driver "staged" share, and the functions that drivers above it use.
 */
#ifndef SHMEMI_STAGED_H
#define SHMEMI_STAGED_H

#include "transport/driver.h"
#include "transport/request.h"

/* Transfers of the driver "staged" in pieces of at most `most` bytes, which fit a slot. */
int shmemi_staged_put_in_pieces(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                                const struct shmemi_place *source, const struct shmemi_shape *shape, size_t most);
int shmemi_staged_get_in_pieces(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                                const struct shmemi_place *dest, const struct shmemi_shape *shape, size_t most);

/* A request for a piece of a transfer that starts at offset. */
struct shmemi_request shmemi_staged_request(const struct shmemi_view *view, enum shmemi_request_type type,
                                            size_t offset, const struct shmemi_piece *piece, size_t peer_pitch,
                                            unsigned slot);
/* A request for all rows of a transfer. */
struct shmemi_request shmemi_staged_request_whole(const struct shmemi_view *view, enum shmemi_request_type type,
                                                  size_t offset, const struct shmemi_shape *shape, unsigned slot);
int shmemi_staged_send(const struct shmemi_view *view, const struct shmemi_request *request);
/* Send a request. Its answer, if any, is copied to its place by quiet, or by a thread that needs the slot. */
int shmemi_staged_send_and_leave(const struct shmemi_view *view, const struct shmemi_request *request,
                                 const struct shmemi_place *dest, const struct shmemi_shape *shape);
/* Send a request that needs no slot. */
int shmemi_staged_send_slotless(const struct shmemi_view *view, struct shmemi_request *request);
/* Wait for a free slot; the caller has no pieces of its own under way that could free one. */
unsigned shmemi_staged_await_slot(struct shmemi_context *context);
/* Wait for the answer of a slot that this thread holds. */
int shmemi_staged_wait(const struct shmemi_view *view, unsigned slot);
/* Called after requests of this context have been sent whose completion quiet has to wait for. */
void shmemi_staged_note_pending(struct shmemi_context *context);

int shmemi_staged_amo(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_amo *amo, void *fetch_p);
int shmemi_staged_amo_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                          const struct shmemi_amo *amo, void *fetch_p);

/* A put, and the update of a word of the same PE after it, which its owner carries out. If it is blocking, returns when
 * the source may be reused; otherwise quiet completes it. -ENOTSUP: the owner cannot update the word as others do. */
int shmemi_staged_put_signal(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                             const struct shmemi_place *source, size_t nbytes, const struct shmemi_word_update *word,
                             bool is_blocking);

/* The driver's puts (transport/staged/put.c). Blocking ones return when the source has been copied to slots; quiet waits
 * for the owner's part. */
int shmemi_staged_put(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_place *source, size_t nbytes);
int shmemi_staged_put_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                          const struct shmemi_place *source, size_t nbytes);
int shmemi_staged_put_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                              const struct shmemi_place *source, const struct shmemi_shape *shape);
int shmemi_staged_put_strided_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                                  const struct shmemi_place *source, const struct shmemi_shape *shape);

/* The driver's gets (transport/staged/get.c). */
int shmemi_staged_get(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_place *dest, size_t nbytes);
int shmemi_staged_get_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                          const struct shmemi_place *dest, size_t nbytes);
int shmemi_staged_get_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                              const struct shmemi_place *dest, const struct shmemi_shape *shape);
int shmemi_staged_get_strided_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                                  const struct shmemi_place *dest, const struct shmemi_shape *shape);

#endif
