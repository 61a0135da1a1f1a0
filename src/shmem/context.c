/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communication contexts [9.5]. Operations on a context are ordered and completed by its own fence and quiet only.
 *
 * The options are promises by the program about threads and stores. The library would gain nothing from them, so it
 * accepts them and ignores them.
 */
#include "shmem/team.h"

#include "transport/drivers/table.h"

#include <stdlib.h>

struct shmemi_ctx shmemi_default_ctx;

int shmemi_member_of_context(const struct shmemi_ctx *ctx, const char *routine, int pe)
{
    if (!ctx)
        shmemi_fatal("%s: the context is SHMEM_CTX_INVALID", routine);
    shmemi_require_init(routine);
    const struct shmemi_team *team = ctx->team ? ctx->team : &shmemi_team_world;
    if (pe < 0 || pe >= team->n_pes)
        shmemi_fatal("%s: PE %d is out of range, the team of the context has PEs 0 to %d", routine, pe,
                     team->n_pes - 1);
    return shmemi_team_world_pe(team, pe);
}

static int create(const char *routine, struct shmemi_team *team, shmem_ctx_t *handle)
{
    shmemi_require_init(routine);
    *handle = SHMEM_CTX_INVALID;
    struct shmemi_ctx *ctx = calloc(1, sizeof *ctx);
    if (!ctx) {
        shmemi_warn("%s: out of memory for a context", routine);
        return -ENOMEM;
    }
    ctx->team = team == &shmemi_team_world ? NULL : team;
    shmemi_team_add_context(team, ctx);
    *handle = &ctx->transport;
    return 0;
}

SHMEMI_API(int, ctx_create, (long options, shmem_ctx_t *ctx))
{
    (void)options;
    return create("shmem_ctx_create", &shmemi_team_world, ctx);
}

SHMEMI_API(int, team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t *ctx))
{
    (void)options;
    if (team != SHMEM_TEAM_INVALID)
        return create("shmem_team_create_ctx", shmemi_team_of(team), ctx);
    *ctx = SHMEM_CTX_INVALID;
    return -1;
}

void shmemi_context_free(struct shmemi_ctx *ctx)
{
    shmemi_require(shmemi_drivers_end_gathering(&ctx->transport));
    shmemi_quiet(ctx);
    shmemi_team_remove_context(ctx);
    free(ctx);
}

SHMEMI_API(void, ctx_destroy, (shmem_ctx_t ctx))
{
    if (ctx == SHMEM_CTX_INVALID)
        return;
    if (ctx == SHMEM_CTX_DEFAULT)
        shmemi_fatal("shmem_ctx_destroy: the default context cannot be destroyed");
    shmemi_context_free(shmemi_ctx_of(ctx));
}

SHMEMI_API(int, ctx_get_team, (shmem_ctx_t ctx, shmem_team_t *team))
{
    *team = SHMEM_TEAM_INVALID;
    if (ctx == SHMEM_CTX_INVALID)
        return -1;
    struct shmemi_team *of_ctx = shmemi_ctx_of(ctx)->team;
    *team = of_ctx ? shmemi_team_handle(of_ctx) : SHMEM_TEAM_WORLD;
    return 0;
}
