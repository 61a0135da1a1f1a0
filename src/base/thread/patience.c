/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long threads spin, yield and sleep while they wait, by the rows of tuning.def.
 */
#include "base/thread/patience.h"

#include "base/thread/cores.h"

#include <time.h>

struct patience_row {
    unsigned spins, spins_per_yield; /* 0: it does not yield while it spins */
    unsigned yields;
    unsigned short_naps;
    long short_ns, long_ns;
};

static const struct patience_row rows[SHMEMI_PATIENCES] = {
#define PATIENCE(name, spins, spins_per_yield, yields, short_naps, short_ns, long_ns, meaning)                         \
    [name] = {spins, spins_per_yield, yields, short_naps, short_ns, long_ns},
#define TUNING(name, value, unit, meaning, measured)
#include "base/tuning.def"
#undef PATIENCE
#undef TUNING
};

static enum shmemi_rest nap(const struct patience_row *row, unsigned turn)
{
    if (row->short_ns == SHMEMI_NO_NAPS)
        return SHMEMI_PATIENCE_IS_OVER;
    const unsigned n_before = turn - row->spins - row->yields - 1;
    if (row->short_ns == SHMEMI_LONGER_NAPS)
        shmemi_nap(turn);
    else
        nanosleep(&(struct timespec){.tv_nsec = n_before < row->short_naps ? row->short_ns : row->long_ns}, NULL);
    return SHMEMI_HAS_NAPPED;
}

enum shmemi_rest shmemi_rest(enum shmemi_patience patience, unsigned turn)
{
    const struct patience_row *row = &rows[patience];
    const bool spins = turn <= row->spins;
    if (spins && (!row->spins_per_yield || turn % row->spins_per_yield))
        return SHMEMI_HAS_SPUN;
    if (!spins && turn - row->spins > row->yields)
        return nap(row, turn);
    shmemi_yield();
    return SHMEMI_HAS_YIELDED;
}
