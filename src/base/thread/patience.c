/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long threads spin, yield and sleep while they wait: all such constants of the library.
 */
#include "base/thread/patience.h"

#include "base/thread/cores.h"

#include <limits.h>
#include <time.h>

enum { EVER = UINT_MAX / 2 };
enum { NO_NAPS, LONGER_AND_LONGER }; /* in place of short_ns; the second: by shmemi_nap */

struct row {
    unsigned spins, spins_per_yield; /* 0: it does not yield while it spins */
    unsigned yields;
    unsigned short_naps;
    long short_ns, long_ns;
};

static const struct row rows[SHMEMI_PATIENCES] = {
    [SHMEMI_WAIT_IN_NODE] = {.spins = 4000, .yields = 10000, .short_ns = LONGER_AND_LONGER},
    /* A turn takes about a microsecond, since UCX makes system calls. */
    [SHMEMI_WAIT_FOR_NETWORK] = {.spins = 50, .yields = 1000, .short_ns = LONGER_AND_LONGER},
    /* The more threads share a core, the sooner it goes to one that has something to do. */
    [SHMEMI_WAIT_ON_SHARED_CORES] = {.spins = 16, .yields = 64, .short_ns = LONGER_AND_LONGER},
    [SHMEMI_WAIT_IN_CROWD] = {.spins = 16, .yields = 4, .short_ns = LONGER_AND_LONGER},

    [SHMEMI_SERVICE_IDLE] = {.yields = 200},
    [SHMEMI_SERVICE_IDLE_APART] = {.yields = 4000}, /* about a millisecond */
    [SHMEMI_SERVICE_IDLE_IN_CROWD] = {.yields = 4}, /* each takes the core from somebody who has something to do */

    /* They sleep rather than yield: a thread of the program that waits for its stream spins, and if the two share a
     * core, each yield costs a time slice. A kernel may ask for something at any time. */
    [SHMEMI_STREAMS_IDLE] = {.spins = 4000, .short_naps = 2000, .short_ns = 20000, .long_ns = 200000},
    [SHMEMI_STREAMS_IDLE_ON_SHARED_CORES] = {.spins = 16, .short_naps = 2000, .short_ns = 20000, .long_ns = 200000},
    [SHMEMI_KERNELS_IDLE] = {.spins = 4000, .short_naps = 2000, .short_ns = 20000, .long_ns = 100000},
    [SHMEMI_KERNELS_IDLE_ON_SHARED_CORES] = {.spins = 16, .short_naps = 2000, .short_ns = 20000, .long_ns = 100000},

    [SHMEMI_COPY_NEXT_PIECE] = {.spins = 2000, .spins_per_yield = 128},
    [SHMEMI_COPY_NEXT_COPY] = {.spins = 4000, .spins_per_yield = 128},

    [SHMEMI_UCX_CLOSING] = {.yields = EVER},
    [SHMEMI_UCX_CLOSING_IN_CROWD] = {.yields = 4, .short_ns = LONGER_AND_LONGER},
    [SHMEMI_UCX_PEER_LOST] = {.short_naps = EVER, .short_ns = 10000000},
};

static enum shmemi_rest nap(const struct row *row, unsigned turn)
{
    if (row->short_ns == NO_NAPS)
        return SHMEMI_PATIENCE_IS_OVER;
    const unsigned n_before = turn - row->spins - row->yields - 1;
    if (row->short_ns == LONGER_AND_LONGER)
        shmemi_nap(turn);
    else
        nanosleep(&(struct timespec){.tv_nsec = n_before < row->short_naps ? row->short_ns : row->long_ns}, NULL);
    return SHMEMI_HAS_NAPPED;
}

enum shmemi_rest shmemi_rest(enum shmemi_patience patience, unsigned turn)
{
    const struct row *row = &rows[patience];
    const bool spins = turn <= row->spins;
    if (spins && (!row->spins_per_yield || turn % row->spins_per_yield))
        return SHMEMI_HAS_SPUN;
    if (!spins && turn - row->spins > row->yields)
        return nap(row, turn);
    shmemi_yield();
    return SHMEMI_HAS_YIELDED;
}
