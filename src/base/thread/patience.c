/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How long threads spin, yield and sleep while they wait, by the rows of tuning.def.
 */
#include "base/thread/patience.h"

#include "base/thread/cores.h"
#include "base/tuning.h"

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

/* In a crowd a nap that never gets longer takes the cores from those that have something to do. */
static enum shmemi_rest nap(const struct patience_row *row, unsigned n_before, unsigned turn)
{
    if (row->short_ns == SHMEMI_NO_NAPS)
        return SHMEMI_PATIENCE_IS_OVER;
    const long ns = n_before < row->short_naps ? row->short_ns : row->long_ns;
    if (row->short_ns == SHMEMI_LONGER_NAPS || (shmemi_cores_are_crowded() && ns < SHMEMI_NAP_MAX_NS))
        shmemi_nap(turn);
    else
        nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
    return SHMEMI_HAS_NAPPED;
}

enum shmemi_rest shmemi_rest(enum shmemi_patience patience, unsigned turn)
{
    const struct patience_row *row = &rows[patience],
                              *awake = shmemi_cores_are_crowded() ? &rows[SHMEMI_IN_CROWD] : row;
    const bool spins = turn <= awake->spins;
    if (spins && (!awake->spins_per_yield || turn % awake->spins_per_yield))
        return SHMEMI_HAS_SPUN;
    if (!spins && turn - awake->spins > awake->yields)
        return nap(row, turn - awake->spins - awake->yields - 1, turn);
    shmemi_yield();
    return SHMEMI_HAS_YIELDED;
}
