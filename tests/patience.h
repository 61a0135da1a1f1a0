/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How tests wait in a loop: longer and longer naps. Threads that yield, or that nap shortly for long, may keep other
 * programs of the machine from running (bench/log/decisions.md).
 */
#ifndef PATIENCE_H
#define PATIENCE_H

#include <time.h>

/* turns: 0 when the wait begins; one for each look. */
static inline void wait_a_turn(unsigned *turns)
{
    enum { SPINS = 100, NAPS_PER_STEP = 4, NAP_NS = 20000, NAP_MAX_NS = 5000000 };
    struct timespec nap = {0, 0};
    if ((*turns)++ < SPINS)
        return;
    nap.tv_nsec = (long)(1 + (*turns - SPINS) / NAPS_PER_STEP) * NAP_NS;
    if (nap.tv_nsec > NAP_MAX_NS)
        nap.tv_nsec = NAP_MAX_NS;
    nanosleep(&nap, NULL);
}

#endif
