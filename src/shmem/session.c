/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sessions [9.9]: hints about the operations that follow on a context. They order and complete nothing.
 *
 * SHMEM_CTX_SESSION_BATCH gathers small puts to the PEs of other nodes into few messages, and small operations on GPU
 * memory into few kernels; they leave when enough have come together, at the end of the session, and before a fence or
 * quiet of the context.
 */
#include "shmem/internal.h"
#include "transport/staged/batch.h"
#include "transport/direct/list.h"

static void update(struct shmemi_context *context, long options, const shmem_ctx_session_config_t *config,
                   long config_mask)
{
    if (!context->session.is_open) {
        context->session.is_open = true;
        context->session.options = 0;
        context->session.total_ops = SIZE_MAX;
    }
    context->session.options |= options;
    if (config && (config_mask & SHMEM_CTX_SESSION_TOTAL_OPS))
        context->session.total_ops = config->total_ops;
}

/* A start in an open session adds its options and replaces the fields that its mask names. */
SHMEMI_API(void, ctx_session_start,
           (shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask))
{
    if (ctx == SHMEM_CTX_INVALID)
        return;
    shmemi_require_init("shmem_ctx_session_start");
    update(ctx, options, config, config_mask);
    ctx->lists.is_patient = ctx->session.options & SHMEM_CTX_SESSION_BATCH;
    if (ctx->lists.is_patient)
        shmemi_require(shmemi_batch_open(ctx, ctx->session.total_ops));
}

SHMEMI_API(void, ctx_session_stop, (shmem_ctx_t ctx))
{
    if (ctx == SHMEM_CTX_INVALID || !ctx->session.is_open)
        return;
    ctx->session.is_open = false;
    ctx->lists.is_patient = false;
    shmemi_require(shmemi_direct_list_flush(ctx));
    shmemi_require(shmemi_batch_close(ctx));
}
