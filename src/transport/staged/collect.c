/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the driver "staged" does together: bursts of small transfers, and a put with its signal.
 */
#include "transport/staged/gather.h"
#include "transport/staged/staged.h"

#include <errno.h>

static struct shmemi_run_limits run_limits(void)
{
    enum { BEGINS_AFTER = 3, MOST = 256 << 10 };
    return (struct shmemi_run_limits){BEGINS_AFTER, shmemi_staging.chunk < MOST ? shmemi_staging.chunk : MOST};
}

static int collect(const struct shmemi_transfer *transfer)
{
    const struct shmemi_run_limits limits = run_limits();
    if (transfer->is_put && shmemi_transfer_is_host(transfer))
        return shmemi_gather_bytes(transfer->context, transfer->view, transfer->offset,
                                   (const void *)transfer->mine.address, transfer->shape.width);
    return shmemi_gather_run(transfer->context, transfer->view, transfer->offset, &transfer->mine,
                             transfer->shape.width, transfer->is_put, &limits);
}

/* May the owner update the word, as whoever else updates it? */
static bool owner_updates(const struct shmemi_view *view, const struct shmemi_word_update *signal)
{
    const struct shmemi_view *word = signal->view;
    const bool is_host = !word->place.memory || word->place.memory == &shmemi_memory_host;
    return !is_host || signal->amo.op == SHMEMI_AMO_SET || view->link->owner_adds(word);
}

/* Earlier puts that are held back leave first: nothing orders them before the signal, but many programs send the signal
 * last. */
static int put_signal(const struct shmemi_transfer *put, const struct shmemi_word_update *signal)
{
    if (!owner_updates(put->view, signal))
        return -ENOTSUP;
    int rc = shmemi_gather_gathering.flush(put->context);
    return rc ? rc : shmemi_staged_put_signal(put, signal);
}

const struct shmemi_collecting shmemi_staged_collecting = {collect, put_signal};
