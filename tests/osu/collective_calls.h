/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives over all PEs in the two forms that OpenSHMEM has had: with teams (from 1.5 on), with active sets.
 */
#ifndef OSU_COLLECTIVE_CALLS_H
#define OSU_COLLECTIVE_CALLS_H

#include <stddef.h>

/* nbytes: size of the block that goes to one PE or comes from one. The root of a broadcast is PE 0. */
typedef void (*collective_func_t)(void *dest, const void *source, size_t nbytes);

struct collective_calls {
    const char *form;
    /* Collective: what the calls need for blocks of up to nbytes. */
    void (*open)(size_t nbytes);
    void (*close)(void);
    collective_func_t barrier, broadcast, collect, fcollect, alltoall;
    collective_func_t sum_int, sum_long, sum_float, sum_double;
};

extern const struct collective_calls collective_active_sets;

/* NULL where the library has none. */
extern const struct collective_calls *const collective_teams;

#endif
