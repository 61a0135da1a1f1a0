/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory ordering [9.12]: fence and quiet of a context order and complete the operations issued on it. And the cache
 * control of older versions.
 */
#include "shmem/check/check.h"
#include "shmem/deep/deep.h"
#include "device/device.h"
#include "transport/node.h"
#include "transport/drivers/table.h"

/* A fence or quiet of a context, described to the watchdog, counts and traces. */
struct completion_call {
    struct shmemi_call call;
    const struct shmemi_context *context;
};

static const char *const kind_names[SHMEMI_PENDING_KINDS] = {
    [SHMEMI_PENDING_DIRECT] = "copies of GPU memory",
    [SHMEMI_PENDING_UCX] = "operations of the network",
    [SHMEMI_PENDING_STAGED] = "staged operations",
};

static void describe_completion(const struct shmemi_call *call, char *text, size_t size)
{
    const struct shmemi_context *context = ((const struct completion_call *)call)->context;
    const char *separator = "for ";
    for (int kind = 0; kind < SHMEMI_PENDING_KINDS; kind++) {
        const struct shmemi_count *count = &context->pending.of[kind];
        uint64_t issued = shmemi_count_issued(count);
        if (shmemi_count_is_settled(count, issued))
            continue;
        shmemi_append(text, size, "%sthe %s that were issued before", separator, kind_names[kind]);
        separator = ", and for ";
    }
    shmemi_describe_rings(text, size);
}

/* What kernels have handed to the library counts as issued on the default context. */
static inline bool has_kernels(const struct shmemi_context *context)
{
    return shmemi_unlikely(atomic_load_explicit(&shmemi_device_served, memory_order_relaxed) != NULL) &&
           context == &shmemi_default_ctx.transport;
}

/* Takes the unfinished deep copies first, since later ones may have transfers that this quiet does not complete. */
static int complete_all(struct shmemi_context *context)
{
    struct shmemi_ctx *ctx = (struct shmemi_ctx *)context; /* shmemi_quiet passes only these */
    struct shmemi_deep_left *left = shmemi_deep_take_left(ctx);
    int rc = shmemi_drivers_quiet(context);
    if (!rc)
        shmemi_deep_finish(left);
    if (!rc && has_kernels(context))
        shmemi_device_quiet();
    return rc;
}

/* by_program: the program has called the routine itself. What the library completes for it, when a team or the library
 * ends, may have been issued by any thread. */
static __attribute__((noinline)) void complete(struct shmemi_context *context, const char *routine, bool by_program,
                                               enum shmemi_activity activity,
                                               int (*completion)(struct shmemi_context *context))
{
    struct completion_call call = {{.routine = routine, .activity = activity, .describe = describe_completion},
                                   context};
    if (by_program)
        shmemi_check_thread(routine, context);
    const bool has_work = shmemi_context_has_pending(context) || has_kernels(context);
    if (shmemi_present_call && !has_work)
        return; /* inside another call, and nothing to do */
    shmemi_span_begin(&call.call);
    if (has_work)
        shmemi_require(completion(context));
    shmemi_span_end(&call.call);
}

/* One test for all that is seldom so. */
static inline bool has_more_to_do(const struct shmemi_context *context)
{
    return shmemi_context_has_pending(context) | shmemi_measure.is_on | shmemi_settings.check;
}

/* The processor's fence comes last: what completes here may itself be stores, or what other PEs have stored before they
 * answered. Its partner is the load of who waits for a word that is put later (wait/word.h). */
static inline void fence(struct shmemi_context *context, bool by_program)
{
    if (has_more_to_do(context))
        complete(context, "shmem_fence", by_program, SHMEMI_AT_FENCE, shmemi_drivers_fence);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static inline void quiet(struct shmemi_ctx *ctx, bool by_program)
{
    struct shmemi_context *context = &ctx->transport;
    if (has_more_to_do(context) | has_kernels(context))
        complete(context, "shmem_quiet", by_program, SHMEMI_AT_QUIET, complete_all);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

SHMEMI_QUICK void shmemi_fence(struct shmemi_context *context)
{
    fence(context, false);
}

SHMEMI_QUICK void shmemi_quiet(struct shmemi_ctx *ctx)
{
    quiet(ctx, false);
}

/* Completes the operations on all PEs, which the specification allows [9.12.3]. */
static void quiet_pes(shmem_ctx_t handle, const char *routine, const int *target_pes, size_t npes)
{
    struct shmemi_ctx *ctx = shmemi_check_ctx(handle, routine);
    if (npes)
        shmemi_require_pointer(routine, "target_pes", target_pes);
    for (size_t i = 0; i < npes; i++)
        (void)shmemi_member_of_context(handle, routine, target_pes[i]);
    if (npes)
        quiet(ctx, true);
}

SHMEMI_API(void, fence, (void))
{
    fence(&shmemi_default_ctx.transport, true);
}

SHMEMI_API(void, quiet, (void))
{
    quiet(&shmemi_default_ctx, true);
}

/* On SHMEM_CTX_INVALID these do nothing [9.12.1, 9.12.2]; so does pe_quiet, on which the specification is silent. */
SHMEMI_API(void, ctx_fence, (shmem_ctx_t ctx))
{
    if (ctx != SHMEM_CTX_INVALID)
        fence(&shmemi_check_ctx(ctx, "shmem_ctx_fence")->transport, true);
}

SHMEMI_API(void, ctx_quiet, (shmem_ctx_t ctx))
{
    if (ctx != SHMEM_CTX_INVALID)
        quiet(shmemi_check_ctx(ctx, "shmem_ctx_quiet"), true);
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

/* ---- cache control, removed in OpenSHMEM 1.5: caches are coherent, so it does nothing ------------------------------ */

SHMEMI_API(void, clear_cache_inv, (void))
{
    shmemi_require_init("shmem_clear_cache_inv");
}

SHMEMI_API(void, set_cache_inv, (void))
{
    shmemi_require_init("shmem_set_cache_inv");
}

SHMEMI_API(void, clear_cache_line_inv, (void *dest))
{
    (void)dest;
    shmemi_require_init("shmem_clear_cache_line_inv");
}

SHMEMI_API(void, set_cache_line_inv, (void *dest))
{
    (void)dest;
    shmemi_require_init("shmem_set_cache_line_inv");
}

SHMEMI_API(void, udcflush, (void))
{
    shmemi_require_init("shmem_udcflush");
}

SHMEMI_API(void, udcflush_line, (void *dest))
{
    (void)dest;
    shmemi_require_init("shmem_udcflush_line");
}
