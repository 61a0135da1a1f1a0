/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Contexts and teams as this PE has them: numbers for them, and whose numbers PEs have.
 */
#include "race/calls/wrapped_call.h"

enum { CONTEXTS_MOST = 1024, TEAMS_MOST = 512 };

struct context {
    shmem_ctx_t handle; /* NULL: free */
    shmem_team_t team;
    uint8_t domain;
};

static struct context contexts[CONTEXTS_MOST]; /* by number; 0 is the default one */
static struct race_team teams[TEAMS_MOST];
static unsigned n_teams;
static race_lock lock;

static struct race_team *add_team(shmem_team_t handle, uint64_t uid, uint8_t domain)
{
    race_lock_take(&lock);
    unsigned i = 0;
    while (i < n_teams && teams[i].uid != uid && teams[i].uid)
        i++;
    if (i == TEAMS_MOST)
        race_fatal("more than %d teams for --race", TEAMS_MOST);
    if (i == n_teams)
        n_teams++;
    struct race_team team = {.uid = uid};
    if (teams[i].uid == uid)
        team = teams[i];
    team.handle = handle;
    team.domain = domain;
    teams[i] = team;
    race_lock_give(&lock);
    return &teams[i];
}

static struct race_team *add_members(struct race_team *team)
{
    team->me = pshmem_team_my_pe(team->handle);
    team->n = pshmem_team_n_pes(team->handle);
    return team;
}

static struct race_team *find_team(shmem_team_t handle)
{
    for (unsigned i = 0; i < n_teams; i++)
        if (teams[i].handle == handle)
            return &teams[i];
    return NULL;
}

struct race_team *race_team_of(shmem_team_t handle)
{
    struct race_team *team = find_team(handle);
    if (team || handle == SHMEM_TEAM_INVALID)
        return team;
    if (handle == SHMEM_TEAM_WORLD)
        return add_members(add_team(handle, 1, 0));
    if (handle == SHMEM_TEAM_SHARED)
        return add_members(
            add_team(handle, 2 + ((uint64_t)pshmem_team_translate_pe(handle, 0, SHMEM_TEAM_WORLD) << 8), RACE_SHARED));
    return NULL;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    return (a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccdu;
}

struct race_team *race_set_of(int start, int log_stride, int size)
{
    const uint64_t uid = mix(mix(mix(3, (uint64_t)start), (uint64_t)log_stride), (uint64_t)size);
    for (unsigned i = 0; i < n_teams; i++)
        if (teams[i].uid == uid)
            return &teams[i];
    struct race_team *team = add_team(SHMEM_TEAM_INVALID, uid, 0);
    team->n = size;
    team->me = (race.pe - start) >> log_stride;
    return team;
}

/* A new team: the how-manieth split of its parent and its first member tell it from others. */
static void note_team(struct race_team *parent, uint64_t number, shmem_team_t handle)
{
    if (!parent || handle == SHMEM_TEAM_INVALID)
        return;
    const uint64_t first = (uint64_t)pshmem_team_translate_pe(handle, 0, SHMEM_TEAM_WORLD);
    (void)add_members(add_team(handle, mix(mix(parent->uid, number), first), parent->domain));
}

RACE_WRAPPER int shmem_team_split_strided(shmem_team_t parent_team, int start, int stride, int size,
                                          const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team)
{
    RACE_BEGIN("shmem_team_split_strided", SHMEM_CTX_DEFAULT);
    struct race_team *parent = call.thread ? race_team_of(parent_team) : NULL;
    const int rc = pshmem_team_split_strided(parent_team, start, stride, size, config, config_mask, new_team);
    if (parent)
        note_team(parent, 4 * parent->number++, rc ? SHMEM_TEAM_INVALID : *new_team);
    race_call_end(&call);
    return rc;
}

RACE_WRAPPER int shmem_team_split_2d(shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config,
                                     long xaxis_mask, shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config,
                                     long yaxis_mask, shmem_team_t *yaxis_team)
{
    RACE_BEGIN("shmem_team_split_2d", SHMEM_CTX_DEFAULT);
    struct race_team *parent = call.thread ? race_team_of(parent_team) : NULL;
    const int rc = pshmem_team_split_2d(parent_team, xrange, xaxis_config, xaxis_mask, xaxis_team, yaxis_config,
                                        yaxis_mask, yaxis_team);
    if (parent) {
        note_team(parent, 4 * parent->number + 1, rc ? SHMEM_TEAM_INVALID : *xaxis_team);
        note_team(parent, 4 * parent->number++ + 2, rc ? SHMEM_TEAM_INVALID : *yaxis_team);
    }
    race_call_end(&call);
    return rc;
}

RACE_WRAPPER void shmem_team_destroy(shmem_team_t team)
{
    RACE_BEGIN("shmem_team_destroy", SHMEM_CTX_DEFAULT);
    struct race_team *known = call.thread ? find_team(team) : NULL;
    if (known)
        *known = (struct race_team){.uid = 0};
    for (uint32_t i = 1; call.thread && i < CONTEXTS_MOST; i++)
        if (contexts[i].handle && contexts[i].team == team) {
            race_quiet(call.thread, i);
            race_forget_context(i);
            contexts[i].handle = NULL;
        }
    pshmem_team_destroy(team);
    race_call_end(&call);
}

/* The library has been finalised: what it gave out is gone. */
void race_forget_handles(void)
{
    for (unsigned i = 0; i < n_teams; i++)
        if (teams[i].handle != SHMEM_TEAM_INVALID && teams[i].handle != SHMEM_TEAM_WORLD &&
            teams[i].handle != SHMEM_TEAM_SHARED)
            teams[i] = (struct race_team){.uid = 0};
    for (uint32_t i = 1; i < CONTEXTS_MOST; i++) {
        if (contexts[i].handle)
            race_forget_context(i);
        contexts[i].handle = NULL;
    }
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

static uint32_t find_context(shmem_ctx_t handle)
{
    for (uint32_t i = 1; i < CONTEXTS_MOST; i++)
        if (contexts[i].handle == handle)
            return i;
    return 0;
}

static void note_context(const struct race_call *call, shmem_team_t handle, shmem_ctx_t ctx)
{
    const struct race_team *team = call->thread ? race_team_of(handle) : NULL;
    if (!team || ctx == SHMEM_CTX_INVALID)
        return;
    race_lock_take(&lock);
    const uint32_t number = find_context(NULL);
    if (!number)
        race_fatal("more than %d contexts for --race", CONTEXTS_MOST);
    contexts[number] = (struct context){ctx, handle, team->domain};
    race_lock_give(&lock);
}

RACE_WRAPPER int shmem_ctx_create(long options, shmem_ctx_t *ctx)
{
    RACE_BEGIN("shmem_ctx_create", SHMEM_CTX_DEFAULT);
    const int rc = pshmem_ctx_create(options, ctx);
    if (!rc)
        note_context(&call, SHMEM_TEAM_WORLD, *ctx);
    race_call_end(&call);
    return rc;
}

RACE_WRAPPER int shmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx)
{
    RACE_BEGIN("shmem_team_create_ctx", SHMEM_CTX_DEFAULT);
    const int rc = pshmem_team_create_ctx(team, options, ctx);
    if (!rc)
        note_context(&call, team, *ctx);
    race_call_end(&call);
    return rc;
}

RACE_WRAPPER void shmem_ctx_destroy(shmem_ctx_t ctx)
{
    RACE_BEGIN("shmem_ctx_destroy", ctx);
    if (call.thread && call.context) {
        race_quiet(call.thread, call.context);
        race_forget_context(call.context);
        contexts[call.context].handle = NULL;
    }
    pshmem_ctx_destroy(ctx);
    race_call_end(&call);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

struct race_call race_call_begin(uint16_t *routine, const char *name, shmem_ctx_t ctx, uintptr_t pc)
{
    struct race_call call = {.thread = race_this_thread(), .team = SHMEM_TEAM_WORLD, .pc = pc};
    if (!call.thread)
        return call;
    if (!*routine)
        *routine = race_routine(name);
    call.routine = *routine;
    call.context = ctx == SHMEM_CTX_DEFAULT ? 0 : find_context(ctx);
    if (call.context) {
        call.team = contexts[call.context].team;
        call.domain = contexts[call.context].domain;
    }
    call.thread->inside++;
    return call;
}

void race_call_end(struct race_call *call)
{
    if (call->thread)
        call->thread->inside--;
}

int race_world_pe(const struct race_call *call, int pe)
{
    if (call->team != SHMEM_TEAM_WORLD)
        pe = pshmem_team_translate_pe(call->team, pe, SHMEM_TEAM_WORLD);
    return pe >= 0 && pe < race.n_pes ? pe : -1;
}
