/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SHMEM_CHECK: what a single PE finds: transfers that leave their block, overlaps, threads that must not use a context.
 */
#include "shmem/check/check.h"

#include "shmem/team.h"
#include "shmmap/guarded.h"
#include "transport/threads.h"

#include <pthread.h>

void shmemi_check_block(const char *routine, const char *what, const void *address, size_t nbytes)
{
    if (nbytes && shmemi_region_of(address) == &shmemi_heap_region)
        shmemi_guarded_check_range(routine, what, address, nbytes);
}

void shmemi_refuse_overlap(const char *routine, const void *dest, size_t dest_bytes, const void *source,
                           size_t source_bytes, bool may_be_same)
{
    const uintptr_t a = (uintptr_t)dest, b = (uintptr_t)source;
    if (!dest_bytes || !source_bytes || a + dest_bytes <= b || b + source_bytes <= a || (a == b && may_be_same))
        return;
    shmemi_fatal("%s: dest %p + %zu bytes and source %p + %zu bytes overlap", routine, dest, dest_bytes, source,
                 source_bytes);
}

void shmemi_check_heap(const char *routine)
{
    if (shmemi_unlikely(shmemi_settings.check))
        shmemi_guarded_check_all(routine);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static uintptr_t this_thread(void)
{
    return (uintptr_t)pthread_self();
}

/* The program's context; NULL for one of the library's own. */
static struct shmemi_ctx *program_context(const struct shmemi_context *context)
{
    const bool is_programs = context == &shmemi_default_ctx.transport || shmemi_pool_holds(&shmemi_contexts, context);
    return is_programs ? (struct shmemi_ctx *)(uintptr_t)context : NULL;
}

static void refuse_user(const char *routine, uintptr_t user)
{
    if (user && user != this_thread())
        shmemi_fatal("%s: another thread is in a call on this context, which is SHMEM_CTX_SERIALIZED", routine);
}

void shmemi_refuse_thread(const char *routine, const struct shmemi_context *context)
{
    struct shmemi_ctx *ctx = program_context(context);
    shmemi_require_init(routine);
    if (!ctx || shmemi_thread_is_librarys()) /* which does what streams and queues were given */
        return;
    if (shmemi_thread_level() <= SHMEM_THREAD_FUNNELED && this_thread() != shmemi_default_ctx.creator)
        shmemi_fatal("%s: called by another thread than shmem_init, but the thread level is %s", routine,
                     shmemi_thread_level() == SHMEM_THREAD_SINGLE ? "SHMEM_THREAD_SINGLE" : "SHMEM_THREAD_FUNNELED");
    if ((ctx->options & SHMEM_CTX_PRIVATE) && this_thread() != ctx->creator)
        shmemi_fatal("%s: the context is SHMEM_CTX_PRIVATE, and another thread has created it", routine);
    refuse_user(routine, atomic_load(&ctx->user));
}

bool shmemi_check_begin(const char *routine, struct shmemi_context *context)
{
    struct shmemi_ctx *ctx = program_context(context);
    uintptr_t user = 0;
    shmemi_refuse_thread(routine, context);
    if (!ctx || !(ctx->options & SHMEM_CTX_SERIALIZED))
        return false;
    if (atomic_compare_exchange_strong(&ctx->user, &user, this_thread()))
        return true;
    refuse_user(routine, user);
    return false;
}

void shmemi_check_end(struct shmemi_context *context)
{
    atomic_store(&program_context(context)->user, 0);
}

bool shmemi_check_addresses(const struct shmemi_transfer *transfer, const void *symmetric, const void *local)
{
    const size_t nbytes = transfer->shape.width;
    if (transfer->view->pe == shmemi_job.pe && transfer->shape.rows == 1)
        shmemi_refuse_overlap(transfer->routine, symmetric, nbytes, local, nbytes, true);
    return shmemi_check_begin(transfer->routine, transfer->context);
}
