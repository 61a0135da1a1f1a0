/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic memory operations [9.7].
 */
#include "base/copy_bytes.h"
#include "base/likely.h"
#include "shmem/check/check.h"
#include "shmem/internal.h"

const struct shmemi_view *shmemi_reach_word(const char *routine, const void *address, size_t nbytes, int pe,
                                            size_t *offset_p)
{
    const struct shmemi_view *view = shmemi_reach(routine, address, nbytes, pe, offset_p);
    if ((uintptr_t)address % nbytes)
        shmemi_fatal("%s: %p is not aligned to its %zu bytes", routine, address, nbytes);
    return view;
}

static void update_word(struct shmemi_context *context, const char *routine, const struct shmemi_word_update *update,
                        const struct shmemi_place *old, bool is_blocking)
{
    struct shmemi_transfer_call call = shmemi_transfer_call(routine, update->view, update->offset, update->amo.size);
    shmemi_call_begin(&call.call);
    shmemi_require(shmemi_op_amo(context, update, old, is_blocking));
    shmemi_call_end(&call.call);
}

/* By a CPU of this PE: never waits, and nothing is measured. */
static void update_mapped(char *word, const struct shmemi_amo *amo, void *fetch_p)
{
    const uint64_t old = shmemi_amo_apply(word, amo);
    if (fetch_p)
        shmemi_copy_bytes(fetch_p, &old, amo->size);
}

void shmemi_amo(struct shmemi_context *context, const char *routine, void *dest, const struct shmemi_amo *amo,
                void *fetch_p, int pe)
{
    size_t offset;
    const struct shmemi_view *view = shmemi_reach_word(routine, dest, amo->size, pe, &offset);
    if (shmemi_likely(view->mapped != NULL)) {
        update_mapped(view->mapped + offset, amo, fetch_p);
        return;
    }
    const struct shmemi_place old = shmemi_place_host(fetch_p);
    shmemi_check_thread(routine, context); /* which clears view->mapped */
    update_word(context, routine, &(struct shmemi_word_update){view, offset, *amo}, fetch_p ? &old : NULL, true);
}

/* The old value is at fetch_p after quiet. */
static void amo_nbi(struct shmemi_context *context, const char *routine, void *dest, const struct shmemi_amo *amo,
                    void *fetch_p, int pe)
{
    size_t offset;
    const struct shmemi_view *view = shmemi_reach_word(routine, dest, amo->size, pe, &offset);
    struct shmemi_place place = shmemi_local_place(routine, fetch_p, amo->size);
    if (shmemi_likely(view->mapped && place.memory == &shmemi_memory_host)) {
        update_mapped(view->mapped + offset, amo, fetch_p);
        return;
    }
    shmemi_check_thread(routine, context);
    update_word(context, routine, &(struct shmemi_word_update){view, offset, *amo}, &place, false);
}

/* clang-format off */
/* __VA_ARGS__: the parameters between the context and the PE. The deprecated names have only the forms without. */
#define DEFINE_OLD_POSTING(NAME, amo, ...)                                                                             \
    SHMEMI_API(void, NAME, (__VA_ARGS__, int pe))                                                                      \
    { shmemi_amo(&shmemi_default_ctx.transport, "shmem_" #NAME, dest, &amo, NULL, pe); }
#define DEFINE_POSTING(NAME, amo, ...)                                                                                 \
    DEFINE_OLD_POSTING(NAME, amo, __VA_ARGS__)                                                                         \
    SHMEMI_API(void, ctx_##NAME, (shmem_ctx_t ctx, __VA_ARGS__, int pe))                                               \
    { shmemi_amo(shmemi_context_of(ctx), "shmem_ctx_" #NAME, dest, &amo, NULL,                                         \
                 shmemi_world_pe(ctx, "shmem_ctx_" #NAME, pe)); }

#define DEFINE_OLD_FETCHING(NAME, TYPE, WORD, amo, ...)                                                                \
    SHMEMI_API(TYPE, NAME, (__VA_ARGS__, int pe))                                                                      \
    { TYPE old; shmemi_amo(&shmemi_default_ctx.transport, "shmem_" #NAME, WORD, &amo, &old, pe); return old; }
#define DEFINE_FETCHING(NAME, TYPE, WORD, amo, ...)                                                                    \
    DEFINE_OLD_FETCHING(NAME, TYPE, WORD, amo, __VA_ARGS__)                                                            \
    SHMEMI_API(TYPE, ctx_##NAME, (shmem_ctx_t ctx, __VA_ARGS__, int pe))                                               \
    { TYPE old; shmemi_amo(shmemi_context_of(ctx), "shmem_ctx_" #NAME, WORD, &amo, &old,                               \
                           shmemi_world_pe(ctx, "shmem_ctx_" #NAME, pe)); return old; }                                \
    SHMEMI_API(void, NAME##_nbi, (TYPE *fetch, __VA_ARGS__, int pe))                                                   \
    { amo_nbi(&shmemi_default_ctx.transport, "shmem_" #NAME "_nbi", WORD, &amo, fetch, pe); }                          \
    SHMEMI_API(void, ctx_##NAME##_nbi, (shmem_ctx_t ctx, TYPE *fetch, __VA_ARGS__, int pe))                            \
    { amo_nbi(shmemi_context_of(ctx), "shmem_ctx_" #NAME "_nbi", WORD, &amo, fetch,                                    \
              shmemi_world_pe(ctx, "shmem_ctx_" #NAME "_nbi", pe)); }

SHMEMI_FOR_ATOMICS()

/* ---- deprecated names ------------------------------------------------------------------------------------------- */

#define DEFINE_OLD_XAMO(NAME, TYPE, ...)                                                                               \
    DEFINE_OLD_FETCHING(NAME##_fetch, TYPE, (TYPE *)source, SHMEMI_AMO(FETCH, TYPE, 0, 0), const TYPE *source)         \
    DEFINE_OLD_FETCHING(NAME##_swap, TYPE, dest, SHMEMI_AMO(SWAP, TYPE, SHMEMI_BITS(value), 0), TYPE *dest,            \
                        TYPE value)                                                                                    \
    DEFINE_OLD_POSTING(NAME##_set, SHMEMI_AMO(SET, TYPE, SHMEMI_BITS(value), 0), TYPE *dest, TYPE value)

#define DEFINE_OLD_AMO(NAME, TYPE, ...)                                                                                \
    DEFINE_OLD_FETCHING(NAME##_cswap, TYPE, dest, SHMEMI_AMO(COMPARE_SWAP, TYPE, SHMEMI_BITS(value),                   \
                        SHMEMI_BITS(cond)), TYPE *dest, TYPE cond, TYPE value)                                         \
    DEFINE_OLD_FETCHING(NAME##_finc, TYPE, dest, SHMEMI_AMO(ADD, TYPE, 1, 0), TYPE *dest)                              \
    DEFINE_OLD_FETCHING(NAME##_fadd, TYPE, dest, SHMEMI_AMO(ADD, TYPE, SHMEMI_BITS(value), 0), TYPE *dest,             \
                        TYPE value)                                                                                    \
    DEFINE_OLD_POSTING(NAME##_inc, SHMEMI_AMO(ADD, TYPE, 1, 0), TYPE *dest)                                            \
    DEFINE_OLD_POSTING(NAME##_add, SHMEMI_AMO(ADD, TYPE, SHMEMI_BITS(value), 0), TYPE *dest, TYPE value)
/* clang-format on */

SHMEMI_FOR_OLD_XAMO_TYPES(DEFINE_OLD_XAMO, )
SHMEMI_FOR_OLD_AMO_TYPES(DEFINE_OLD_AMO, )
/* clang-format off */
DEFINE_OLD_FETCHING(swap, long, dest, SHMEMI_AMO(SWAP, long, SHMEMI_BITS(value), 0), long *dest, long value)
/* clang-format on */
