/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communication contexts [9.5]. Operations on a context are ordered and completed by its own fence and quiet only.
 *
 * The options are promises of the program about threads and stores. Nothing has to be given up to serve a context
 * that promises less, so they are kept and change nothing.
 */
#include "shmem/team.h"

#include "transport/staged/batch.h"

#include <stdlib.h>

SHMEMI_DEFINE_HANDLE(struct shmemi_context, shmemi_default_context, .options = 0);

int shmemi_member_of_context(const struct shmemi_context *context, const char *routine, int pe)
{
    if (context == SHMEM_CTX_INVALID)
        shmemi_fatal("%s: the context is SHMEM_CTX_INVALID", routine);
    shmemi_require_init(routine);
    const struct shmemi_team *team = context->team ? context->team : SHMEM_TEAM_WORLD;
    if (pe < 0 || pe >= team->n_pes)
        shmemi_fatal("%s: PE %d is out of range, the team of the context has PEs 0 to %d", routine, pe,
                     team->n_pes - 1);
    return shmemi_team_world_pe(team, pe);
}

static int create(const char *routine, struct shmemi_team *team, long options, shmem_ctx_t *ctx)
{
    shmemi_require_init(routine);
    *ctx = SHMEM_CTX_INVALID;
    struct shmemi_context *context = calloc(1, sizeof *context);
    if (!context) {
        shmemi_warn("%s: out of memory for a context", routine);
        return -ENOMEM;
    }
    context->team = team == SHMEM_TEAM_WORLD ? NULL : team;
    context->options = options;
    shmemi_team_add_context(team, context);
    *ctx = context;
    return 0;
}

SHMEMI_API(int, ctx_create, (long options, shmem_ctx_t *ctx))
{
    return create("shmem_ctx_create", SHMEM_TEAM_WORLD, options, ctx);
}

SHMEMI_API(int, team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t *ctx))
{
    if (team != SHMEM_TEAM_INVALID)
        return create("shmem_team_create_ctx", team, options, ctx);
    *ctx = SHMEM_CTX_INVALID;
    return -1;
}

void shmemi_context_free(struct shmemi_context *context)
{
    shmemi_require(shmemi_batch_close(context));
    shmemi_quiet(context);
    shmemi_team_remove_context(context);
    free(context);
}

SHMEMI_API(void, ctx_destroy, (shmem_ctx_t ctx))
{
    if (ctx == SHMEM_CTX_INVALID)
        return;
    if (ctx == SHMEM_CTX_DEFAULT)
        shmemi_fatal("shmem_ctx_destroy: the default context cannot be destroyed");
    shmemi_context_free(ctx);
}

SHMEMI_API(int, ctx_get_team, (shmem_ctx_t ctx, shmem_team_t *team))
{
    *team = SHMEM_TEAM_INVALID;
    if (ctx == SHMEM_CTX_INVALID)
        return -1;
    *team = ctx->team ? ctx->team : SHMEM_TEAM_WORLD;
    return 0;
}
