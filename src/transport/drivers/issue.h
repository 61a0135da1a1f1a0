/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers of all that is above transport go through these functions, which call the view's driver; with SHMEM_STATS or
 * SHMEM_TRACE each is timed and counted under the name of that driver. What drivers do to carry transfers out (requests,
 * bursts that leave together, other drivers to which they leave some) is not counted again, and is the same whether
 * anything is measured or not.
 */
#ifndef SHMEMI_DRIVERS_ISSUE_H
#define SHMEMI_DRIVERS_ISSUE_H

#include "base/likely.h"
#include "instrument/measure.h"
#include "transport/collect/hold_back.h"
#include "transport/driver.h"

/* ISSUE(slot of struct shmemi_driver, transfer, bytes, parameters, arguments): parameters and arguments follow context,
 * view and offset. */
#define SHMEMI_UNPACK(...) __VA_ARGS__
#define SHMEMI_FOR_ISSUED(ISSUE)                                                                                       \
    ISSUE(put, PUT, nbytes, (const struct shmemi_place *mine, size_t nbytes), (mine, nbytes))                          \
    ISSUE(get, GET, nbytes, (const struct shmemi_place *mine, size_t nbytes), (mine, nbytes))                          \
    ISSUE(put_nbi, PUT_NBI, nbytes, (const struct shmemi_place *mine, size_t nbytes), (mine, nbytes))                  \
    ISSUE(get_nbi, GET_NBI, nbytes, (const struct shmemi_place *mine, size_t nbytes), (mine, nbytes))                  \
    ISSUE(put_strided, IPUT, shape->width * shape->rows,                                                               \
          (const struct shmemi_place *mine, const struct shmemi_shape *shape), (mine, shape))                          \
    ISSUE(get_strided, IGET, shape->width * shape->rows,                                                               \
          (const struct shmemi_place *mine, const struct shmemi_shape *shape), (mine, shape))                          \
    ISSUE(put_strided_nbi, IPUT, shape->width * shape->rows,                                                           \
          (const struct shmemi_place *mine, const struct shmemi_shape *shape), (mine, shape))                          \
    ISSUE(get_strided_nbi, IGET, shape->width * shape->rows,                                                           \
          (const struct shmemi_place *mine, const struct shmemi_shape *shape), (mine, shape))                          \
    ISSUE(amo, AMO, amo->size, (const struct shmemi_amo *amo, void *fetch_p), (amo, fetch_p))                          \
    ISSUE(amo_nbi, AMO_NBI, amo->size, (const struct shmemi_amo *amo, void *fetch_p), (amo, fetch_p))

/* shmemi_issue_put, ...: as the function of the same name in struct shmemi_driver. */
#define SHMEMI_DEFINE_ISSUE(slot, transfer, nbytes, parameters, arguments)                                             \
    int shmemi_measured_##slot(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,          \
                               SHMEMI_UNPACK parameters);                                                              \
    static inline int shmemi_issue_##slot(struct shmemi_context *context, const struct shmemi_view *view,              \
                                          size_t offset, SHMEMI_UNPACK parameters)                                     \
    {                                                                                                                  \
        return (shmemi_unlikely(shmemi_measure.is_on) ? shmemi_measured_##slot : view->driver->slot)(                  \
            context, view, offset, SHMEMI_UNPACK arguments);                                                           \
    }
SHMEMI_FOR_ISSUED(SHMEMI_DEFINE_ISSUE)
#undef SHMEMI_DEFINE_ISSUE

/* Hold back a put from host memory, put_nbi or get_nbi (hold_back.h); routine: for traces, or NULL. It is counted when it has
 * been taken in, with the time that this took. -EAGAIN: it is not held back. */
int shmemi_measured_collect(const char *routine, struct shmemi_context *context, const struct shmemi_view *view,
                            size_t offset, const struct shmemi_place *mine, size_t nbytes,
                            enum shmemi_transfer transfer);
static inline int shmemi_issue_collected(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                                         const struct shmemi_place *mine, size_t nbytes, enum shmemi_transfer transfer)
{
    const bool is_put = transfer != SHMEMI_TRANSFER_GET_NBI;
    return shmemi_hold_back(&(struct shmemi_small){context, view, offset, *mine, nbytes, is_put});
}
static inline int shmemi_issue_collect(const char *routine, struct shmemi_context *context,
                                       const struct shmemi_view *view, size_t offset, const struct shmemi_place *mine,
                                       size_t nbytes, enum shmemi_transfer transfer)
{
    if (shmemi_unlikely(shmemi_measure.is_on))
        return shmemi_measured_collect(routine, context, view, offset, mine, nbytes, transfer);
    return shmemi_issue_collected(context, view, offset, mine, nbytes, transfer);
}

/* A put with its signal, by the view's driver or another that it is left to. What is held back leaves first: nothing orders
 * it before the signal, but many programs send the signal last. -ENOTSUP: nothing else was done. */
int shmemi_issue_put_signal(const struct shmemi_driver *driver, struct shmemi_context *context,
                            const struct shmemi_view *view, size_t offset, const struct shmemi_place *source,
                            size_t nbytes, const struct shmemi_word_update *signal, bool is_blocking);

/* Around the enqueueing of a transfer in a stream of the program; begin: 0 when nothing is measured. */
static inline uint64_t shmemi_measure_begin(void)
{
    return shmemi_unlikely(shmemi_measure.is_on) ? shmemi_clock() : 0;
}
void shmemi_measure_enqueued(const struct shmemi_view *view, size_t offset, size_t nbytes, uint64_t begin);

#endif
