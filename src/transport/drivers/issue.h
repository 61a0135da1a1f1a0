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

int shmemi_measured_transfer(const struct shmemi_transfer *transfer);
static inline int shmemi_issue(const struct shmemi_transfer *transfer)
{
    return (shmemi_unlikely(shmemi_measure.is_on) ? shmemi_measured_transfer
                                                  : transfer->view->driver->transfer)(transfer);
}

/* Hold back a transfer (hold_back.h). It is counted when it has been taken in, with the time that this took. -EAGAIN: it is
 * not held back. */
int shmemi_measured_collect(const struct shmemi_transfer *transfer);
static inline int shmemi_issue_collect(const struct shmemi_transfer *transfer)
{
    return (shmemi_unlikely(shmemi_measure.is_on) ? shmemi_measured_collect : shmemi_hold_back)(transfer);
}

/* A put with its signal, by the driver. What is held back leaves first: nothing orders it before the signal, but many
 * programs send the signal last. -ENOTSUP: nothing else was done. */
int shmemi_issue_put_signal(const struct shmemi_transfer *put, const struct shmemi_word_update *signal);

/* amo of the driver. */
int shmemi_issue_amo(struct shmemi_context *context, const struct shmemi_word_update *update, void *fetch_p,
                     bool is_blocking);

/* Around the enqueueing of a transfer in a stream of the program; begin: 0 when nothing is measured. */
static inline uint64_t shmemi_measure_begin(void)
{
    return shmemi_unlikely(shmemi_measure.is_on) ? shmemi_clock() : 0;
}
void shmemi_measure_enqueued(const struct shmemi_view *view, size_t offset, size_t nbytes, uint64_t begin);

#endif
