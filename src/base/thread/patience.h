/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The loops in which threads wait: first they only look again, then they yield, then they sleep. How often and how long
 * is a table in tuning.def, with a row for each kind of loop.
 */
#ifndef SHMEMI_PATIENCE_H
#define SHMEMI_PATIENCE_H

#include <limits.h>

enum shmemi_patience {
#define PATIENCE(name, spins, spins_per_yield, yields, short_naps, short_ns, long_ns, meaning) name,
#define TUNING(name, value, unit, meaning, measured)
#include "base/tuning.def"
#undef PATIENCE
#undef TUNING
    SHMEMI_PATIENCES
};

/* In the rows: in place of short_ns, and for a number of yields or naps. */
enum { SHMEMI_NO_NAPS, SHMEMI_LONGER_NAPS, SHMEMI_FOR_EVER = INT_MAX };

/* What a turn of a loop has done. */
enum shmemi_rest {
    SHMEMI_HAS_SPUN, /* nothing */
    SHMEMI_HAS_YIELDED,
    SHMEMI_HAS_NAPPED,
    SHMEMI_PATIENCE_IS_OVER, /* nothing: the caller has a sleep of its own */
};

/* Called in each turn of a loop that found nothing to do, with the number of the turn, from 1 on. Where very many threads
 * share a core, all loops spin and yield as SHMEMI_IN_CROWD says, and their naps become longer and longer. */
enum shmemi_rest shmemi_rest(enum shmemi_patience patience, unsigned turn);

#endif
