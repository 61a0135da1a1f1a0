/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The constants of tuning.def.
 */
#ifndef SHMEMI_TUNING_H
#define SHMEMI_TUNING_H

enum {
#define PATIENCE(name, spins, spins_per_yield, yields, short_naps, short_ns, long_ns, meaning)
#define TUNING(name, value, unit, meaning, measured) name = value,
#include "base/tuning.def"
#undef PATIENCE
#undef TUNING
};

#endif
