/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The public routines on teams [9.4].
 *
 * Where the specification leaves a choice: a triplet with a member outside the parent is an error on all PEs (9.4.6
 * also calls it undefined); a team with a negative stride has the reversed order of the parent; contexts that still
 * exist on a team are destroyed with it, private ones, too (9.5.2 calls this undefined).
 */
#include "shmem/check/check.h"
#include "shmem/team.h"

/* The team of a handle, for routines that may be called before shmem_init: NULL for SHMEM_TEAM_INVALID. */
static struct shmemi_team *find_team(const char *routine, shmem_team_t handle)
{
    const bool is_fixed = handle == SHMEM_TEAM_INVALID || handle == SHMEM_TEAM_WORLD || handle == SHMEM_TEAM_SHARED;
    return is_fixed ? shmemi_team_of(handle) : shmemi_require_team(routine, handle);
}

SHMEMI_API(int, team_my_pe, (shmem_team_t team))
{
    const struct shmemi_team *found = find_team("shmem_team_my_pe", team);
    return found ? found->my_pe : -1;
}

SHMEMI_API(int, team_n_pes, (shmem_team_t team))
{
    const struct shmemi_team *found = find_team("shmem_team_n_pes", team);
    return found ? found->n_pes : -1;
}

SHMEMI_API(int, team_get_config, (shmem_team_t team, long config_mask, shmem_team_config_t *config))
{
    const struct shmemi_team *found = find_team("shmem_team_get_config", team);
    if (!found)
        return -1;
    if (config_mask & SHMEM_TEAM_NUM_CONTEXTS) {
        shmemi_require_pointer("shmem_team_get_config", "config", config);
        config->num_contexts = found->config.num_contexts;
    }
    return 0;
}

SHMEMI_API(int, team_translate_pe, (shmem_team_t src_team, int src_pe, shmem_team_t dest_team))
{
    const struct shmemi_team *source = find_team("shmem_team_translate_pe", src_team);
    const struct shmemi_team *dest = find_team("shmem_team_translate_pe", dest_team);
    if (!source || !dest || src_pe < 0 || src_pe >= source->n_pes)
        return -1;
    return shmemi_team_position(dest, shmemi_team_world_pe(source, src_pe));
}

static bool is_valid_triplet(const struct shmemi_team *parent, int start, int stride, int size)
{
    if (size < 1 || start < 0 || start >= parent->n_pes || (stride == 0 && size > 1))
        return false;
    long last = start + (long)(size - 1) * stride;
    return last >= 0 && last < parent->n_pes;
}

SHMEMI_API(int, team_split_strided,
           (shmem_team_t parent_team, int start, int stride, int size, const shmem_team_config_t *config,
            long config_mask, shmem_team_t *new_team))
{
    shmemi_require_pointer("shmem_team_split_strided", "new_team", new_team);
    *new_team = SHMEM_TEAM_INVALID;
    if (parent_team == SHMEM_TEAM_INVALID)
        return -1;
    struct shmemi_team *parent = shmemi_require_team("shmem_team_split_strided", parent_team);
    shmemi_check_equal(
        "shmem_team_split_strided", parent,
        SHMEMI_ARGUMENTS({"start", (uint64_t)start}, {"stride", (uint64_t)stride}, {"size", (uint64_t)size}));
    if (!is_valid_triplet(parent, start, stride, size))
        return -1;
    struct shmemi_team_plan plan = {start, stride, size, config, config_mask};
    return shmemi_teams_make("shmem_team_split_strided", parent, &plan, 1, new_team);
}

/* PE i of the parent has the coordinates x = i mod xrange and y = i / xrange. The teams of the x axis share a slot,
 * since no PE is in two of them; those of the y axis likewise. */
SHMEMI_API(int, team_split_2d,
           (shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, long xaxis_mask,
            shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask,
            shmem_team_t *yaxis_team))
{
    shmem_team_t made[2] = {SHMEM_TEAM_INVALID, SHMEM_TEAM_INVALID};
    shmemi_require_pointer("shmem_team_split_2d", "xaxis_team", xaxis_team);
    shmemi_require_pointer("shmem_team_split_2d", "yaxis_team", yaxis_team);
    *xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
    if (parent_team == SHMEM_TEAM_INVALID || xrange < 1)
        return -1;
    struct shmemi_team *parent = shmemi_require_team("shmem_team_split_2d", parent_team);
    shmemi_check_equal("shmem_team_split_2d", parent, SHMEMI_ARGUMENTS({"xrange", (uint64_t)xrange}));
    const int n = parent->n_pes, width = xrange < n ? xrange : n;
    const int x = parent->my_pe % width, y = parent->my_pe / width;
    struct shmemi_team_plan plans[2] = {
        {y * width, 1, n - y * width < width ? n - y * width : width, xaxis_config, xaxis_mask},
        {x, width, (n - x + width - 1) / width, yaxis_config, yaxis_mask},
    };
    int rc = shmemi_teams_make("shmem_team_split_2d", parent, plans, 2, made);
    if (rc)
        return rc;
    *xaxis_team = made[0];
    *yaxis_team = made[1];
    return 0;
}

SHMEMI_API(void, team_destroy, (shmem_team_t team))
{
    if (team == SHMEM_TEAM_INVALID)
        return;
    shmemi_require_init("shmem_team_destroy");
    if (team == SHMEM_TEAM_WORLD || team == SHMEM_TEAM_SHARED)
        shmemi_fatal("shmem_team_destroy: a predefined team cannot be destroyed");
    struct shmemi_team *found = shmemi_require_team("shmem_team_destroy", team);
    shmemi_team_stream_drain(found);
    shmemi_sync_in("shmem_team_destroy", found, false);
    shmemi_team_destroy(found);
}

SHMEMI_API(void *, team_ptr, (shmem_team_t team, const void *dest, int pe))
{
    const struct shmemi_team *found = find_team("shmem_team_ptr", team);
    if (!found || pe < 0 || pe >= found->n_pes)
        return NULL;
    return shmemi_ptr(dest, shmemi_team_world_pe(found, pe));
}
