/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory ordering [9.12]: per context, of the operations issued on it.
 */
#include "shmem/internal.h"

void shmemi_fence(struct shmemi_context *context)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (shmemi_context_has_pending(context))
        shmemi_require(shmemi_drivers_fence(context));
}

void shmemi_quiet(struct shmemi_context *context)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (shmemi_context_has_pending(context))
        shmemi_require(shmemi_drivers_quiet(context));
}

/* Completes more than is asked for, which the specification allows [9.12.3]. */
static void quiet_pes(struct shmemi_context *context, const char *routine, const int *target_pes, size_t npes)
{
    for (size_t i = 0; i < npes; i++)
        (void)shmemi_member_of_context(context, routine, target_pes[i]);
    if (npes)
        shmemi_quiet(context);
}

SHMEMI_API(void, fence, (void))
{
    shmemi_fence(SHMEM_CTX_DEFAULT);
}

SHMEMI_API(void, quiet, (void))
{
    shmemi_quiet(SHMEM_CTX_DEFAULT);
}

/* SHMEM_CTX_INVALID: nothing to do [9.12.1, 9.12.2]; pe_quiet likewise, where the specification is silent. */
SHMEMI_API(void, ctx_fence, (shmem_ctx_t ctx))
{
    if (ctx != SHMEM_CTX_INVALID)
        shmemi_fence(ctx);
}

SHMEMI_API(void, ctx_quiet, (shmem_ctx_t ctx))
{
    if (ctx != SHMEM_CTX_INVALID)
        shmemi_quiet(ctx);
}

SHMEMI_API(void, pe_quiet, (const int *target_pes, size_t npes))
{
    quiet_pes(SHMEM_CTX_DEFAULT, "shmem_pe_quiet", target_pes, npes);
}

SHMEMI_API(void, ctx_pe_quiet, (shmem_ctx_t ctx, const int *target_pes, size_t npes))
{
    if (ctx != SHMEM_CTX_INVALID)
        quiet_pes(ctx, "shmem_ctx_pe_quiet", target_pes, npes);
}
