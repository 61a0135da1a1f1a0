/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Locks of the interface for FORTRAN 77. They are default integers, half as large as those of C. As those they are
 * granted in the order of the requests: the lock's word on PE 0 is a ticket lock, whose upper half is the next
 * ticket, and whose lower half the ticket that is served. Both count to 65535 and begin again.
 */
#include "contrib/f77/f77.h"

#include <time.h>

enum { HOME = 0, HALF_BITS = 16, HALF_MASK = 0xffff, NEXT_TICKET = 1 << HALF_BITS };

static unsigned next_of(unsigned word)
{
    return word >> HALF_BITS;
}

static unsigned served_of(unsigned word)
{
    return word & HALF_MASK;
}

/* The longer it has waited, the longer it sleeps, as waits of the library do (base/thread/cores.h). */
static void nap(unsigned turn)
{
    enum { SPINS = 100, NAPS_PER_STEP = 4, NAP_NS = 20000, NAP_MAX_NS = 5000000 };
    const long longer = (long)(1 + (turn - SPINS) / NAPS_PER_STEP) * NAP_NS;
    if (turn >= SPINS)
        nanosleep(&(struct timespec){.tv_nsec = longer < NAP_MAX_NS ? longer : NAP_MAX_NS}, NULL);
}

SHMEMI_F77(void, shmem_set_lock, (unsigned *lock))
{
    unsigned word = shmem_uint_atomic_fetch_add(lock, NEXT_TICKET, HOME), ticket = next_of(word);
    for (unsigned turn = 0; served_of(word) != ticket; turn++) {
        nap(turn);
        word = shmem_uint_atomic_fetch(lock, HOME);
    }
}

/* 0: this PE has the lock; 1: somebody else has it. */
SHMEMI_F77(int, shmem_test_lock, (unsigned *lock))
{
    unsigned word = shmem_uint_atomic_fetch(lock, HOME);
    if (next_of(word) != served_of(word))
        return 1;
    return shmem_uint_atomic_compare_swap(lock, word, word + NEXT_TICKET, HOME) != word;
}

/* Only the holder changes the lower half, so what it reads stays true. The last ticket is followed by 0, without a carry
 * into the upper half. */
SHMEMI_F77(void, shmem_clear_lock, (unsigned *lock))
{
    shmem_quiet();
    unsigned served = served_of(shmem_uint_atomic_fetch(lock, HOME));
    shmem_uint_atomic_add(lock, served == HALF_MASK ? -(unsigned)HALF_MASK : 1, HOME);
    shmem_quiet();
}
