/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communication contexts [9.5] and sessions [9.9]. Operations on a context are ordered and completed by its own fence and quiet only.
 *
 * The options are promises by the program about threads and stores. The library would gain nothing from them, so it
 * ignores them, unless SHMEM_CHECK is set.
 */
#include "shmem/check/check.h"
#include "shmem/team.h"

#include "transport/drivers/table.h"

enum { CONTEXTS_MAX = 1 << 16 };

struct shmemi_ctx shmemi_default_ctx;
struct shmemi_pool shmemi_contexts = SHMEMI_POOL(struct shmemi_ctx, CONTEXTS_MAX);

static struct shmemi_team no_team; /* of contexts that were destroyed */

struct shmemi_ctx *shmemi_check_ctx(shmem_ctx_t handle, const char *routine)
{
    struct shmemi_ctx *ctx = shmemi_ctx_of(handle);
    if (!ctx || ctx == &shmemi_default_ctx || shmemi_pool_holds(&shmemi_contexts, ctx))
        return ctx;
    shmemi_require_init(routine);
    shmemi_fatal("%s: %p is not a context, or was destroyed, perhaps together with its team", routine, (void *)handle);
}

int shmemi_member_of_context(shmem_ctx_t handle, const char *routine, int pe)
{
    const struct shmemi_ctx *ctx = shmemi_check_ctx(handle, routine);
    if (!ctx)
        shmemi_fatal("%s: the context is SHMEM_CTX_INVALID", routine);
    shmemi_require_init(routine);
    const struct shmemi_team *team = ctx->team ? ctx->team : &shmemi_team_world;
    if (pe < 0 || pe >= team->n_pes)
        shmemi_fatal("%s: PE %d is out of range, the team of the context has PEs 0 to %d", routine, pe,
                     team->n_pes - 1);
    return shmemi_team_world_pe(team, pe);
}

static int create(const char *routine, struct shmemi_team *team, long options, shmem_ctx_t *handle)
{
    shmemi_require_init(routine);
    shmemi_require_pointer(routine, "ctx", handle);
    *handle = SHMEM_CTX_INVALID;
    struct shmemi_ctx *ctx = shmemi_pool_take(&shmemi_contexts);
    if (!ctx) {
        shmemi_warn("%s: out of memory for a context, or this PE has %d already", routine, CONTEXTS_MAX);
        return -ENOMEM;
    }
    ctx->team = team == &shmemi_team_world ? NULL : team;
    ctx->options = options;
    ctx->transport.may_gather = true;
    ctx->creator = (uintptr_t)pthread_self();
    shmemi_team_add_context(team, ctx);
    *handle = &ctx->transport;
    return 0;
}

SHMEMI_API(int, ctx_create, (long options, shmem_ctx_t *ctx))
{
    return create("shmem_ctx_create", &shmemi_team_world, options, ctx);
}

SHMEMI_API(int, team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t *ctx))
{
    if (team != SHMEM_TEAM_INVALID)
        return create("shmem_team_create_ctx", shmemi_require_team("shmem_team_create_ctx", team), options, ctx);
    shmemi_require_pointer("shmem_team_create_ctx", "ctx", ctx);
    *ctx = SHMEM_CTX_INVALID;
    return -1;
}

_Atomic unsigned shmemi_n_contexts;

static bool is_settled(const struct shmemi_pending *pending)
{
    bool settled = true;
    for (int kind = 0; kind < SHMEMI_PENDING_KINDS && settled; kind++)
        settled = shmemi_count_is_settled(&pending->of[kind], shmemi_count_issued(&pending->of[kind]));
    return settled;
}

void shmemi_contexts_quiet(struct shmemi_ctx *first, bool all)
{
    for (struct shmemi_ctx *ctx = first; ctx; ctx = ctx->next)
        if (all || !is_settled(&ctx->transport.pending))
            shmemi_quiet(ctx);
}

void shmemi_context_free(struct shmemi_ctx *ctx)
{
    shmemi_team_remove_context(ctx); /* first: then no barrier of another thread completes it any more */
    shmemi_require(shmemi_collect_session_end(&ctx->transport));
    shmemi_quiet(ctx);
    shmemi_collect_close(&ctx->transport);
    ctx->team = &no_team;
    shmemi_pool_give_back(&shmemi_contexts, ctx);
}

SHMEMI_API(void, ctx_destroy, (shmem_ctx_t ctx))
{
    if (ctx == SHMEM_CTX_INVALID)
        return;
    if (ctx == SHMEM_CTX_DEFAULT)
        shmemi_fatal("shmem_ctx_destroy: the default context cannot be destroyed");
    struct shmemi_ctx *of_program = shmemi_check_ctx(ctx, "shmem_ctx_destroy");
    shmemi_check_thread("shmem_ctx_destroy", ctx);
    shmemi_context_free(of_program);
}

SHMEMI_API(int, ctx_get_team, (shmem_ctx_t ctx, shmem_team_t *team))
{
    shmemi_require_pointer("shmem_ctx_get_team", "team", team);
    *team = SHMEM_TEAM_INVALID;
    if (ctx == SHMEM_CTX_INVALID)
        return -1;
    struct shmemi_team *of_ctx = shmemi_check_ctx(ctx, "shmem_ctx_get_team")->team;
    *team = of_ctx ? shmemi_team_handle(of_ctx) : SHMEM_TEAM_WORLD;
    return 0;
}

/* ---- Sessions [9.9] ----------------------------------------------------------------------------------------------
 *
 * Hints about the operations that follow on a context; they order and complete nothing. SHMEM_CTX_SESSION_BATCH gathers
 * small puts to PEs of other nodes into few messages, and small operations on GPU memory into few kernels, also where
 * they do not come in bursts. They are sent or started when enough have accumulated, at the end of the session, and
 * before a fence or quiet of the context. */

static void open_session(struct shmemi_ctx *ctx, long options, const shmem_ctx_session_config_t *config,
                         long config_mask)
{
    if (!ctx->session.is_open) {
        ctx->session.is_open = true;
        ctx->session.options = 0;
        ctx->session.total_ops = SIZE_MAX;
    }
    ctx->session.options |= options;
    if (config && (config_mask & SHMEM_CTX_SESSION_TOTAL_OPS))
        ctx->session.total_ops = config->total_ops;
}

/* In an open session this adds its options and replaces the fields that config_mask names. */
SHMEMI_API(void, ctx_session_start,
           (shmem_ctx_t handle, long options, const shmem_ctx_session_config_t *config, long config_mask))
{
    struct shmemi_ctx *ctx = shmemi_check_ctx(handle, "shmem_ctx_session_start");
    if (!ctx)
        return;
    shmemi_require_init("shmem_ctx_session_start");
    open_session(ctx, options, config, config_mask);
    if (ctx->session.options & SHMEM_CTX_SESSION_BATCH)
        shmemi_require(shmemi_collect_session_begin(&ctx->transport, ctx->session.total_ops));
}

SHMEMI_API(void, ctx_session_stop, (shmem_ctx_t handle))
{
    struct shmemi_ctx *ctx = shmemi_check_ctx(handle, "shmem_ctx_session_stop");
    if (!ctx || !ctx->session.is_open)
        return;
    ctx->session.is_open = false;
    shmemi_require(shmemi_collect_session_end(&ctx->transport));
}
