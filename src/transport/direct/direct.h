/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations on GPU memory that this process has an address for: what the drivers "local", "cuda-ipc" and "cuda-shadow"
 * share. They are slots of struct shmemi_driver.
 */
#ifndef SHMEMI_DIRECT_H
#define SHMEMI_DIRECT_H

#include "transport/driver.h"

static inline struct shmemi_place shmemi_view_place(const struct shmemi_view *view, size_t offset)
{
    struct shmemi_place place = view->place;
    place.address += offset;
    return place;
}

/* transport/direct/transfers.c */
int shmemi_direct_put(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_place *source, size_t nbytes);
int shmemi_direct_get(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_place *dest, size_t nbytes);
int shmemi_direct_put_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                          const struct shmemi_place *source, size_t nbytes);
int shmemi_direct_get_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                          const struct shmemi_place *dest, size_t nbytes);
int shmemi_direct_put_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                              const struct shmemi_place *source, const struct shmemi_shape *shape);
int shmemi_direct_put_strided_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                                  const struct shmemi_place *source, const struct shmemi_shape *shape);
int shmemi_direct_get_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                              const struct shmemi_place *dest, const struct shmemi_shape *shape);
int shmemi_direct_get_strided_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                                  const struct shmemi_place *dest, const struct shmemi_shape *shape);
int shmemi_direct_put_signal(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                             const struct shmemi_place *source, size_t nbytes, const struct shmemi_word_update *signal,
                             bool is_blocking);

/* transport/direct/direct.c */
int shmemi_direct_amo(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_amo *amo, void *fetch_p);
int shmemi_direct_amo_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                          const struct shmemi_amo *amo, void *fetch_p);

/* Every member of struct shmemi_driver but name, is_direct, attach, detach, put_signal and exposing. */
#define SHMEMI_DIRECT_OPERATIONS                                                                                       \
    .copies_itself = true, .sinks = SHMEMI_SINK_LIST | SHMEMI_SINK_ROWS, .put = shmemi_direct_put,                     \
    .get = shmemi_direct_get, .put_nbi = shmemi_direct_put_nbi, .get_nbi = shmemi_direct_get_nbi,                      \
    .put_strided = shmemi_direct_put_strided, .put_strided_nbi = shmemi_direct_put_strided_nbi,                        \
    .get_strided = shmemi_direct_get_strided, .get_strided_nbi = shmemi_direct_get_strided_nbi,                        \
    .amo = shmemi_direct_amo, .amo_nbi = shmemi_direct_amo_nbi

#endif
