/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers for the extension modules (build_native.py, quick.c): arguments are checked before the call, since routines
 * without a result can only end the job.
 */
#ifndef MAPSHMEM_PY_CHECKED_H
#define MAPSHMEM_PY_CHECKED_H

#include <shmem.h>

static inline int mapshmem_py_running(void)
{
    int initialized = 0;
    shmem_query_initialized(&initialized);
    return initialized;
}

/* The PE's number in the world, or -1. */
static inline int world_pe(shmem_ctx_t ctx, int pe)
{
    shmem_team_t team;
    if (ctx == SHMEM_CTX_DEFAULT)
        return pe >= 0 && pe < shmem_n_pes() ? pe : -1;
    if (shmem_ctx_get_team(ctx, &team) || pe < 0 || pe >= shmem_team_n_pes(team))
        return -1;
    return shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD);
}

/* May nbytes at the address be reached on the PE? 0, or what is wrong: 1 not initialised, 2 the PE, 3 not symmetric,
 * 4 the range ends past its object. */
static inline int mapshmem_py_check(shmem_ctx_t ctx, const void *address, size_t nbytes, int pe)
{
    if (!mapshmem_py_running())
        return 1;
    pe = world_pe(ctx, pe);
    if (pe < 0)
        return 2;
    if (!nbytes)
        return 0;
    if (!shmem_addr_accessible(address, pe))
        return 3;
    return shmem_addr_accessible((const char *)address + (nbytes - 1), pe) ? 0 : 4;
}

/* Check and call in one, since each call from Python takes a tenth of a microsecond. */
#define CHECKED(_name, _far, _routine)                                                                                 \
    static inline int _name(shmem_ctx_t ctx, void *dest, const void *source, size_t n, int pe)                         \
    {                                                                                                                  \
        int problem = mapshmem_py_check(ctx, _far, n, pe);                                                             \
        if (!problem)                                                                                                  \
            _routine(ctx, dest, source, n, pe);                                                                        \
        return problem;                                                                                                \
    }
CHECKED(mapshmem_py_put, dest, shmem_ctx_putmem)
CHECKED(mapshmem_py_put_nbi, dest, shmem_ctx_putmem_nbi)
CHECKED(mapshmem_py_get, source, shmem_ctx_getmem)
CHECKED(mapshmem_py_get_nbi, source, shmem_ctx_getmem_nbi)

#endif
