/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wrappers of fence, quiet, barriers, syncs and locks, and what collectives share.
 */
#include "race/calls/wrapped_call.h"

struct race_collective race_collective_begin(struct race_call *call, struct race_team *team, enum race_shape shape,
                                             int root)
{
    struct race_collective collective = {call, team, shape, root, 0};
    if (!call->thread || !team) {
        collective.team = NULL;
        return collective;
    }
    collective.number = team->number++;
    if (shape == RACE_ALL)
        race_enter(call->thread, team->uid, collective.number, (unsigned)team->n);
    else if (shape == RACE_FROM_ROOT && team->me == root)
        race_enter(call->thread, team->uid, collective.number, (unsigned)team->n - 1);
    else if (shape == RACE_PREFIX)
        race_enter(call->thread, team->uid + (uint64_t)team->me + 1, collective.number,
                   (unsigned)(team->n - 1 - team->me));
    return collective;
}

void race_collective_end(const struct race_collective *collective)
{
    const struct race_team *team = collective->team;
    if (!team)
        return;
    if (collective->shape == RACE_ALL || (collective->shape == RACE_FROM_ROOT && team->me != collective->root))
        race_leave(collective->call->thread, team->uid, collective->number);
    for (int i = 0; collective->shape == RACE_PREFIX && i < team->me; i++)
        race_leave(collective->call->thread, team->uid + (uint64_t)i + 1, collective->number);
}

void race_barrier(struct race_call *call, struct race_team *team, void (*barrier)(void))
{
    if (call->thread)
        race_pass_barrier(call->thread);
    const struct race_collective collective = race_collective_begin(call, team, RACE_ALL, 0);
    barrier();
    race_collective_end(&collective);
}

static struct race_team *world(const struct race_call *call)
{
    return call->thread ? race_team_of(SHMEM_TEAM_WORLD) : NULL;
}

RACE_WRAPPER void shmem_barrier_all(void)
{
    RACE_BEGIN("shmem_barrier_all", SHMEM_CTX_DEFAULT);
    race_barrier(&call, world(&call), pshmem_barrier_all);
    race_call_end(&call);
}

RACE_WRAPPER void shmem_sync_all(void)
{
    RACE_BEGIN("shmem_sync_all", SHMEM_CTX_DEFAULT);
    const struct race_collective collective = race_collective_begin(&call, world(&call), RACE_ALL, 0);
    pshmem_sync_all();
    race_collective_end(&collective);
    race_call_end(&call);
}

RACE_WRAPPER int shmem_team_sync(shmem_team_t team)
{
    RACE_BEGIN("shmem_team_sync", SHMEM_CTX_DEFAULT);
    const struct race_collective collective =
        race_collective_begin(&call, call.thread ? race_team_of(team) : NULL, RACE_ALL, 0);
    const int rc = pshmem_team_sync(team);
    race_collective_end(&collective);
    race_call_end(&call);
    return rc;
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

RACE_WRAPPER void shmem_barrier(int PE_start, int logPE_stride, int PE_size, long *pSync)
{
    RACE_BEGIN("shmem_barrier", SHMEM_CTX_DEFAULT);
    if (call.thread)
        race_pass_barrier(call.thread);
    const struct race_collective collective =
        race_collective_begin(&call, call.thread ? race_set_of(PE_start, logPE_stride, PE_size) : NULL, RACE_ALL, 0);
    pshmem_barrier(PE_start, logPE_stride, PE_size, pSync);
    race_collective_end(&collective);
    race_call_end(&call);
}

RACE_WRAPPER void shmem_sync(int PE_start, int logPE_stride, int PE_size, long *pSync)
{
    RACE_BEGIN("shmem_sync", SHMEM_CTX_DEFAULT);
    const struct race_collective collective =
        race_collective_begin(&call, call.thread ? race_set_of(PE_start, logPE_stride, PE_size) : NULL, RACE_ALL, 0);
    pshmem_sync(PE_start, logPE_stride, PE_size, pSync);
    race_collective_end(&collective);
    race_call_end(&call);
}

/* ---- fence and quiet ---------------------------------------------------------------------------------------------- */

RACE_WRAPPER void shmem_fence(void)
{
    RACE_BEGIN("shmem_fence", SHMEM_CTX_DEFAULT);
    pshmem_fence();
    if (call.thread)
        race_fence(call.thread, call.context);
    race_call_end(&call);
}

RACE_WRAPPER void shmem_quiet(void)
{
    RACE_BEGIN("shmem_quiet", SHMEM_CTX_DEFAULT);
    pshmem_quiet();
    if (call.thread)
        race_quiet(call.thread, call.context);
    race_call_end(&call);
}

RACE_WRAPPER void shmem_ctx_fence(shmem_ctx_t ctx)
{
    RACE_BEGIN("shmem_ctx_fence", ctx);
    pshmem_ctx_fence(ctx);
    if (call.thread && ctx != SHMEM_CTX_INVALID)
        race_fence(call.thread, call.context);
    race_call_end(&call);
}

RACE_WRAPPER void shmem_ctx_quiet(shmem_ctx_t ctx)
{
    RACE_BEGIN("shmem_ctx_quiet", ctx);
    pshmem_ctx_quiet(ctx);
    if (call.thread && ctx != SHMEM_CTX_INVALID)
        race_quiet(call.thread, call.context);
    race_call_end(&call);
}

static void quiet_pes(struct race_call *call, const int *target_pes, size_t npes)
{
    for (size_t i = 0; call->thread && i < npes; i++)
        race_quiet_pe(call->thread, call->context, race_world_pe(call, target_pes[i]));
}

RACE_WRAPPER void shmem_pe_quiet(const int *target_pes, size_t npes)
{
    RACE_BEGIN("shmem_pe_quiet", SHMEM_CTX_DEFAULT);
    pshmem_pe_quiet(target_pes, npes);
    quiet_pes(&call, target_pes, npes);
    race_call_end(&call);
}

RACE_WRAPPER void shmem_ctx_pe_quiet(shmem_ctx_t ctx, const int *target_pes, size_t npes)
{
    RACE_BEGIN("shmem_ctx_pe_quiet", ctx);
    pshmem_ctx_pe_quiet(ctx, target_pes, npes);
    if (ctx != SHMEM_CTX_INVALID)
        quiet_pes(&call, target_pes, npes);
    race_call_end(&call);
}

/* ---- locks -------------------------------------------------------------------------------------------------------- */

/* A lock is known by its place in the memory of PE 0. */
static uint64_t place_of(const long *lock)
{
    struct race_place place;
    return race_locate(&place, (uintptr_t)lock, 0) ? race_word_number(place.word) : 0;
}

RACE_WRAPPER void shmem_set_lock(long *lock)
{
    RACE_BEGIN("shmem_set_lock", SHMEM_CTX_DEFAULT);
    pshmem_set_lock(lock);
    if (call.thread)
        race_lock_acquire(call.thread, place_of(lock));
    race_call_end(&call);
}

RACE_WRAPPER int shmem_test_lock(long *lock)
{
    RACE_BEGIN("shmem_test_lock", SHMEM_CTX_DEFAULT);
    const int held = pshmem_test_lock(lock);
    if (call.thread && !held)
        race_lock_acquire(call.thread, place_of(lock));
    race_call_end(&call);
    return held;
}

RACE_WRAPPER void shmem_clear_lock(long *lock)
{
    RACE_BEGIN("shmem_clear_lock", SHMEM_CTX_DEFAULT);
    if (call.thread) {
        race_quiet(call.thread, 0);
        race_lock_release(call.thread, place_of(lock));
    }
    pshmem_clear_lock(lock);
    race_call_end(&call);
}
