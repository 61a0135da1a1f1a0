/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Teams by number. All members of a team give it the same number, so that its work area for kernels lies at the same
 * symmetric address on all of them: the splits choose a number that is free on all PEs of the parent team.
 */
#include "library.h"

#include <errno.h>
#include <string.h>

static shmem_team_t teams[NVS_TEAMS]; /* SHMEM_TEAM_INVALID: the number is free */
static int *words;                    /* of MapSHMEM's heap, to agree with other PEs: what a PE says, and the result */

shmem_team_t nvs_team(nvshmem_team_t team)
{
    return (unsigned)team < NVS_TEAMS ? teams[team] : SHMEM_TEAM_INVALID;
}

/* ---- Agreement --------------------------------------------------------------------------------------------------- */

#define DEFINE_AGREEMENT(NAME, TYPE, REDUCE)                                                                           \
    TYPE nvs_agree_##NAME(shmem_team_t team, TYPE value)                                                               \
    {                                                                                                                  \
        TYPE *mine = (TYPE *)words, *all = (TYPE *)words + 1;                                                          \
        *mine = value;                                                                                                 \
        if (REDUCE(team, all, mine, 1))                                                                                \
            shmem_global_exit(1);                                                                                      \
        return *all;                                                                                                   \
    }
DEFINE_AGREEMENT(min, int, shmem_int_min_reduce)
DEFINE_AGREEMENT(max, int, shmem_int_max_reduce)
DEFINE_AGREEMENT(and, unsigned, shmem_uint_and_reduce)

/* ---- Start and end ----------------------------------------------------------------------------------------------- */

/* The PEs with this one's number in their nodes, if all nodes have as many and numbers go through them in order. */
static void split_across_nodes(void)
{
    const int n = shmem_team_n_pes(SHMEM_TEAM_SHARED), me = shmem_team_my_pe(SHMEM_TEAM_SHARED);
    const bool is_regular = nvs_agree_min(SHMEM_TEAM_WORLD, n) == nvs_agree_max(SHMEM_TEAM_WORLD, n) &&
                            nvs_agree_min(SHMEM_TEAM_WORLD, shmem_my_pe() % n == me);
    shmem_team_t node;
    if (!is_regular)
        return;
    if (shmem_team_split_2d(SHMEM_TEAM_WORLD, n, NULL, 0, &node, NULL, 0, &teams[NVSHMEMX_TEAM_SAME_MYPE_NODE]))
        teams[NVSHMEMX_TEAM_SAME_MYPE_NODE] = SHMEM_TEAM_INVALID;
    else
        shmem_team_destroy(node);
}

int nvs_teams_open(void)
{
    words = shmem_malloc(2 * sizeof *words);
    if (!words)
        return -ENOMEM;
    memset(teams, 0, sizeof teams);
    teams[NVSHMEM_TEAM_WORLD] = SHMEM_TEAM_WORLD;
    teams[NVSHMEM_TEAM_SHARED] = SHMEM_TEAM_SHARED;
    teams[NVSHMEMX_TEAM_NODE] = SHMEM_TEAM_SHARED;
    split_across_nodes();
    return 0;
}

void nvs_teams_close(void)
{
    memset(teams, 0, sizeof teams); /* shmem_finalize ends those of MapSHMEM */
    shmem_free(words);
    words = NULL;
}

/* ---- For kernels ------------------------------------------------------------------------------------------------- */

int nvs_teams_views(shmemx_device_team_t *views)
{
    int rc = 0;
    memset(views, 0, NVS_TEAMS * sizeof *views);
    for (int i = 0; i < NVS_TEAMS && !rc; i++) {
        void *area;
        const size_t size = nvs_slab_area(i, &area);
        if (teams[i] != SHMEM_TEAM_INVALID && size)
            rc = shmemx_device_team_view(teams[i], area, size, &views[i]);
    }
    return rc;
}

/* ---- Splits ------------------------------------------------------------------------------------------------------- */

/* Numbers that are free on all PEs of the parent, as bits. */
static unsigned free_numbers(shmem_team_t parent)
{
    unsigned mine = 0;
    for (int i = NVSHMEMI_TEAM_FIRST_SPLIT; i < NVS_TEAMS; i++)
        mine |= (unsigned)(teams[i] == SHMEM_TEAM_INVALID) << i;
    return nvs_agree_and(parent, mine);
}

static nvshmem_team_t take_number(unsigned *numbers)
{
    const int number = *numbers ? __builtin_ctz(*numbers) : NVSHMEM_TEAM_INVALID;
    *numbers &= *numbers - 1;
    return number;
}

static int refuse_split(const char *routine)
{
    shmemi_error("%s: a PE has %d teams already", routine, NVS_TEAMS);
    return NVSHMEMX_ERROR_OUT_OF_MEMORY;
}

/* Enter a new team of this PE, which comes out of the split when all members have cleared their areas. */
static nvshmem_team_t enter(nvshmem_team_t number, shmem_team_t team)
{
    if (team == SHMEM_TEAM_INVALID)
        return NVSHMEM_TEAM_INVALID;
    teams[number] = team;
    if (nvs_slab_clear_area(number) || shmem_team_sync(team))
        shmem_global_exit(1);
    return number;
}

NVS_EXPORT int nvshmem_team_split_strided(nvshmem_team_t parent_team, int PE_start, int PE_stride, int PE_size,
                                          const nvshmem_team_config_t *config, long config_mask,
                                          nvshmem_team_t *new_team)
{
    static const char routine[] = "nvshmem_team_split_strided";
    nvs_enter(routine);
    *new_team = NVSHMEM_TEAM_INVALID;
    const shmem_team_t parent = nvs_team(parent_team);
    if (parent == SHMEM_TEAM_INVALID)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    unsigned numbers = free_numbers(parent);
    const nvshmem_team_t number = take_number(&numbers);
    if (number == NVSHMEM_TEAM_INVALID)
        return refuse_split(routine);
    const shmem_team_config_t contexts = {config && config_mask ? config->num_contexts : 0};
    shmem_team_t team;
    if (shmem_team_split_strided(parent, PE_start, PE_stride, PE_size, &contexts, config_mask, &team))
        return NVSHMEMX_ERROR_INVALID_VALUE;
    *new_team = enter(number, team);
    nvs_units_refresh();
    return NVSHMEMX_SUCCESS;
}

NVS_EXPORT int nvshmem_team_split_2d(nvshmem_team_t parent_team, int xrange, const nvshmem_team_config_t *xaxis_config,
                                     long xaxis_mask, nvshmem_team_t *xaxis_team,
                                     const nvshmem_team_config_t *yaxis_config, long yaxis_mask,
                                     nvshmem_team_t *yaxis_team)
{
    static const char routine[] = "nvshmem_team_split_2d";
    nvs_enter(routine);
    *xaxis_team = *yaxis_team = NVSHMEM_TEAM_INVALID;
    const shmem_team_t parent = nvs_team(parent_team);
    if (parent == SHMEM_TEAM_INVALID)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    unsigned numbers = free_numbers(parent);
    const nvshmem_team_t x = take_number(&numbers), y = take_number(&numbers);
    if (y == NVSHMEM_TEAM_INVALID)
        return refuse_split(routine);
    const shmem_team_config_t x_contexts = {xaxis_config && xaxis_mask ? xaxis_config->num_contexts : 0};
    const shmem_team_config_t y_contexts = {yaxis_config && yaxis_mask ? yaxis_config->num_contexts : 0};
    shmem_team_t x_team, y_team;
    if (shmem_team_split_2d(parent, xrange, &x_contexts, xaxis_mask, &x_team, &y_contexts, yaxis_mask, &y_team))
        return NVSHMEMX_ERROR_INVALID_VALUE;
    *xaxis_team = enter(x, x_team);
    *yaxis_team = enter(y, y_team);
    nvs_units_refresh();
    return NVSHMEMX_SUCCESS;
}

NVS_EXPORT void nvshmem_team_destroy(nvshmem_team_t team)
{
    nvs_enter("nvshmem_team_destroy");
    if (nvs_team(team) == SHMEM_TEAM_INVALID)
        return;
    if (team < NVSHMEMI_TEAM_FIRST_SPLIT)
        shmemi_fatal("nvshmem_team_destroy: team %d is predefined", (int)team);
    shmem_team_destroy(teams[team]);
    teams[team] = SHMEM_TEAM_INVALID;
    nvs_units_refresh();
}

/* ---- Queries ------------------------------------------------------------------------------------------------------ */

NVS_EXPORT int nvshmem_team_my_pe(nvshmem_team_t team)
{
    nvs_enter("nvshmem_team_my_pe");
    return shmem_team_my_pe(nvs_team(team));
}

NVS_EXPORT int nvshmem_team_n_pes(nvshmem_team_t team)
{
    nvs_enter("nvshmem_team_n_pes");
    return shmem_team_n_pes(nvs_team(team));
}

NVS_EXPORT int nvshmem_team_translate_pe(nvshmem_team_t src_team, int src_pe, nvshmem_team_t dest_team)
{
    nvs_enter("nvshmem_team_translate_pe");
    return shmem_team_translate_pe(nvs_team(src_team), src_pe, nvs_team(dest_team));
}

NVS_EXPORT void nvshmem_team_get_config(nvshmem_team_t team, nvshmem_team_config_t *config)
{
    shmem_team_config_t ours = {0};
    nvs_enter("nvshmem_team_get_config");
    (void)shmem_team_get_config(nvs_team(team), SHMEM_TEAM_NUM_CONTEXTS, &ours);
    config->num_contexts = ours.num_contexts;
}
