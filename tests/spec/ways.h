/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ways to give an operation a context: none at all (the plain routine), the default context, a context of one's
 * own, and one on a team that has all PEs in reversed order, where every PE number has to be translated.
 */
#ifndef WAYS_H
#define WAYS_H

#include "../api/check.h"

#include <stdbool.h>

struct way {
    const char *name;
    shmem_ctx_t context; /* SHMEM_CTX_INVALID: the plain routine */
    bool is_reversed;
};

enum { N_WAYS = 4 };

static shmem_team_t ways_team;

static inline void ways_open(struct way *ways)
{
    const int n = shmem_n_pes();
    ways[0] = (struct way){"plain", SHMEM_CTX_INVALID, false};
    ways[1] = (struct way){"on the default context", SHMEM_CTX_DEFAULT, false};
    ways[2] = (struct way){"on a context", SHMEM_CTX_INVALID, false};
    ways[3] = (struct way){"on a context of the reversed team", SHMEM_CTX_INVALID, true};
    CHECK(!shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &ways_team));
    CHECK(!shmem_ctx_create(0, &ways[2].context));
    CHECK(!shmem_team_create_ctx(ways_team, 0, &ways[3].context));
}

static inline void ways_close(struct way *ways)
{
    shmem_ctx_destroy(ways[2].context);
    shmem_ctx_destroy(ways[3].context);
    shmem_team_destroy(ways_team);
}

/* The number of PE `pe` of the world on this way. */
static inline int way_pe(const struct way *way, int pe)
{
    return way->is_reversed ? shmem_n_pes() - 1 - pe : pe;
}

static inline void way_quiet(const struct way *way)
{
    if (way->context == SHMEM_CTX_INVALID)
        shmem_quiet();
    else
        shmem_ctx_quiet(way->context);
}

#endif
