/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sessions [9.9]: hints about the operations that follow on a context. They order and complete nothing.
 *
 * SHMEM_CTX_SESSION_BATCH gathers small puts to PEs of other nodes into few messages, and small operations on GPU
 * memory into few kernels. They are sent or started when enough have accumulated, at the end of the session, and before
 * a fence or quiet of the context.
 */
#include "shmem/internal.h"
#include "transport/drivers/table.h"

static void update(struct shmemi_ctx *ctx, long options, const shmem_ctx_session_config_t *config, long config_mask)
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
    struct shmemi_ctx *ctx = shmemi_ctx_of(handle);
    if (!ctx)
        return;
    shmemi_require_init("shmem_ctx_session_start");
    update(ctx, options, config, config_mask);
    if (ctx->session.options & SHMEM_CTX_SESSION_BATCH)
        shmemi_require(shmemi_drivers_begin_gathering(&ctx->transport, ctx->session.total_ops));
}

SHMEMI_API(void, ctx_session_stop, (shmem_ctx_t handle))
{
    struct shmemi_ctx *ctx = shmemi_ctx_of(handle);
    if (!ctx || !ctx->session.is_open)
        return;
    ctx->session.is_open = false;
    shmemi_require(shmemi_drivers_end_gathering(&ctx->transport));
}
