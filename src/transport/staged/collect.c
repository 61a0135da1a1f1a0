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

static int collect_put(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                       const struct shmemi_place *source, size_t nbytes)
{
    if (source->memory == &shmemi_memory_host)
        return shmemi_gather_bytes(context, view, offset, (const void *)source->address, nbytes);
    const struct shmemi_run_limits limits = run_limits();
    return shmemi_gather_run(context, view, offset, source, nbytes, true, &limits);
}

static int collect_get(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                       const struct shmemi_place *dest, size_t nbytes)
{
    const struct shmemi_run_limits limits = run_limits();
    return shmemi_gather_run(context, view, offset, dest, nbytes, false, &limits);
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
static int collect_put_signal(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                              const struct shmemi_place *source, size_t nbytes, const struct shmemi_word_update *signal,
                              bool is_blocking)
{
    if (!owner_updates(view, signal))
        return -ENOTSUP;
    int rc = shmemi_gather_gathering.flush(context);
    return rc ? rc : shmemi_staged_put_signal(context, view, offset, source, nbytes, signal, is_blocking);
}

const struct shmemi_collecting shmemi_staged_collecting = {collect_put, collect_get, collect_put_signal};
