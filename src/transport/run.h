/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A burst of nonblocking transfers of equal length at equal distances, of which some are held back to leave as one
 * (transport/staged/gather.h): where the next one is expected. If it comes there, the API only counts it.
 */
#ifndef SHMEMI_RUN_H
#define SHMEMI_RUN_H

#include "base/copy_bytes.h"
#include "base/likely.h"
#include "base/thread/biased_lock.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Addresses as the program passes them. Zeroed: nothing is expected. */
struct shmemi_run {
    struct shmemi_biased_lock lock; /* of everything here, and of what the context holds back */
    _Atomic size_t left;            /* so many more may be counted: all lie in the memory of those before */
    size_t expected;                /* `left` before the first of them was */
    uintptr_t dest, source;         /* of the next */
    size_t dest_step, source_step, nbytes;
    int pe;
    bool is_put;
    bool takes_values; /* puts of words, which are copied to `source` */

    atomic_bool is_held; /* some are held back, and nothing is expected yet */
    /* Since the last flush: transfers that went on with nothing, 0 once some have been held back; and short ones that left
     * alone (transport/direct/transfers.c). */
    _Atomic unsigned strays, n_alone;
};

/* What expects the next of a burst. */
struct shmemi_run_last {
    uintptr_t dest, source; /* of the last transfer, which was held back */
    uint32_t region;
    size_t offset;     /* in the symmetric object */
    uintptr_t address; /* of the local side, as its memory has it; 0: it lies in no symmetric object */
    size_t nbytes;
    size_t room_there, room_here; /* bytes behind it in the symmetric object, and in the object of the local side */
    int pe;
    bool is_put;
};

static inline bool shmemi_run_may_expect(const struct shmemi_run *run)
{
    return shmemi_unlikely(atomic_load_explicit(&run->is_held, memory_order_relaxed));
}

/* Is this the transfer that is expected? Then it has been held back. False, too, where the lock is not this thread's own:
 * the long way finds that it goes on. */
static inline __attribute__((always_inline)) bool
shmemi_run_goes_on(struct shmemi_run *run, const void *dest, const void *source, size_t nbytes, int pe, bool is_put)
{
    if (!atomic_load_explicit(&run->left, memory_order_relaxed) || !shmemi_biased_enter(&run->lock))
        return false;
    const size_t left = atomic_load_explicit(&run->left, memory_order_relaxed);
    const bool goes_on = left && run->dest == (uintptr_t)dest && run->source == (uintptr_t)source &&
                         run->nbytes == nbytes && run->pe == pe && run->is_put == is_put;
    if (shmemi_likely(goes_on)) {
        run->dest += run->dest_step;
        run->source += run->source_step;
        atomic_store_explicit(&run->left, left - 1, memory_order_relaxed);
    }
    shmemi_biased_leave(&run->lock);
    return goes_on;
}

/* The same for a put of a word of host memory, which is copied. */
static inline __attribute__((always_inline)) bool shmemi_run_takes(struct shmemi_run *run, const void *dest,
                                                                   const void *word, size_t nbytes, int pe)
{
    if (!atomic_load_explicit(&run->left, memory_order_relaxed) || !shmemi_biased_enter(&run->lock))
        return false;
    const size_t left = atomic_load_explicit(&run->left, memory_order_relaxed);
    const bool takes =
        left && run->takes_values && run->dest == (uintptr_t)dest && run->nbytes == nbytes && run->pe == pe;
    if (shmemi_likely(takes)) {
        shmemi_copy_bytes((void *)run->source, word, nbytes);
        run->dest += run->dest_step;
        run->source += run->source_step;
        atomic_store_explicit(&run->left, left - 1, memory_order_relaxed);
    }
    shmemi_biased_leave(&run->lock);
    return takes;
}

/* How many have been counted. With the lock held. */
static inline size_t shmemi_run_counted(const struct shmemi_run *run)
{
    return run->expected - atomic_load_explicit(&run->left, memory_order_relaxed);
}

#endif
