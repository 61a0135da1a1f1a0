/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signals and put with signal [9.8].
 */
#include "shmem/internal.h"
#include "transport/drivers/issue.h"

static struct shmemi_amo update_of(const char *routine, struct shmemi_signal signal)
{
    if (signal.op != SHMEM_SIGNAL_SET && signal.op != SHMEM_SIGNAL_ADD)
        shmemi_fatal("%s: %d is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD", routine, signal.op);
    return (struct shmemi_amo){
        .op = signal.op == SHMEM_SIGNAL_SET ? SHMEMI_AMO_SET : SHMEMI_AMO_ADD,
        .size = sizeof signal.value,
        .operand = signal.value,
    };
}

static void update_signal(struct shmemi_context *context, const char *routine, struct shmemi_signal signal, int pe)
{
    struct shmemi_amo amo = update_of(routine, signal);
    shmemi_amo(context, routine, signal.address, &amo, NULL, pe);
}

/* Let the driver order the payload and the signal, so that no thread waits. False if it cannot. */
static bool put_with_signal(struct shmemi_context *context, const char *routine, void *dest, const void *source,
                            size_t nbytes, struct shmemi_signal signal, int pe, bool is_blocking)
{
    struct shmemi_word_update word;
    size_t offset;
    const struct shmemi_view *view = shmemi_reach(routine, dest, nbytes, pe, &offset);
    if (!view->driver->put_signal)
        return false;
    word.view = shmemi_reach_word(routine, signal.address, sizeof signal.value, pe, &word.offset);
    word.amo = update_of(routine, signal);
    struct shmemi_place place = shmemi_local_place(routine, source, nbytes);
    struct shmemi_transfer_call call = shmemi_transfer_call(routine, view, offset, nbytes);
    shmemi_call_begin(&call.call);
    int rc = shmemi_issue_put_signal(view->driver, context, view, offset, &place, nbytes, &word, is_blocking);
    shmemi_call_end(&call.call);
    if (rc == -ENOTSUP)
        return false;
    shmemi_require(rc);
    return true;
}

/* The payload and the signal may take different routes; the fence makes the payload arrive first. The signal is updated
 * even if there is no payload. */
void shmemi_put_signal(struct shmemi_context *context, const char *routine, void *dest, const void *source,
                       size_t nbytes, struct shmemi_signal signal, int pe, bool is_blocking)
{
    if (nbytes && put_with_signal(context, routine, dest, source, nbytes, signal, pe, is_blocking))
        return;
    if (nbytes)
        (is_blocking ? shmemi_put : shmemi_put_nbi)(context, routine, dest, source, nbytes, pe);
    shmemi_fence(context);
    update_signal(context, routine, signal, pe);
}

SHMEMI_API(uint64_t, signal_fetch, (const uint64_t *sig_addr))
{
    return shmemi_load_word("shmem_signal_fetch", sig_addr, sizeof *sig_addr);
}

/* clang-format off */
#define DEFINE_SIGNAL(NAME, OP)                                                                                        \
    SHMEMI_API(void, NAME, (uint64_t *sig_addr, uint64_t signal, int pe))                                              \
    { update_signal(&shmemi_default_ctx.transport, "shmem_" #NAME, (struct shmemi_signal){sig_addr, signal, OP}, pe); }\
    SHMEMI_API(void, ctx_##NAME, (shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe))                       \
    { update_signal(shmemi_context_of(ctx), "shmem_ctx_" #NAME, (struct shmemi_signal){sig_addr, signal, OP},          \
                    shmemi_world_pe(ctx, "shmem_ctx_" #NAME, pe)); }

DEFINE_SIGNAL(signal_set, SHMEM_SIGNAL_SET)
DEFINE_SIGNAL(signal_add, SHMEM_SIGNAL_ADD)

#define DEFINE_PUT_SIGNAL(NAME, ELEMENT, SIZE, IS_BLOCKING)                                                            \
    SHMEMI_API(void, NAME, (ELEMENT *dest, const ELEMENT *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,  \
                            int sig_op, int pe))                                                                       \
    { shmemi_put_signal(&shmemi_default_ctx.transport, "shmem_" #NAME, dest, source, shmemi_bytes_of(nelems, SIZE),    \
                        (struct shmemi_signal){sig_addr, signal, sig_op}, pe, IS_BLOCKING); }                          \
    SHMEMI_API(void, ctx_##NAME, (shmem_ctx_t ctx, ELEMENT *dest, const ELEMENT *source, size_t nelems,                \
                                  uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))                            \
    { shmemi_put_signal(shmemi_context_of(ctx), "shmem_ctx_" #NAME, dest, source, shmemi_bytes_of(nelems, SIZE),       \
                        (struct shmemi_signal){sig_addr, signal, sig_op},                                              \
                        shmemi_world_pe(ctx, "shmem_ctx_" #NAME, pe), IS_BLOCKING); }

#define DEFINE_TYPE(NAME, TYPE, ...)                                                                                   \
    DEFINE_PUT_SIGNAL(NAME##_put_signal, TYPE, sizeof(TYPE), true)                                                     \
    DEFINE_PUT_SIGNAL(NAME##_put_signal_nbi, TYPE, sizeof(TYPE), false)
#define DEFINE_SIZE(BITS, BYTES, ...)                                                                                  \
    DEFINE_PUT_SIGNAL(put##BITS##_signal, void, BYTES, true)                                                           \
    DEFINE_PUT_SIGNAL(put##BITS##_signal_nbi, void, BYTES, false)
/* clang-format on */

SHMEMI_FOR_RMA_TYPES(DEFINE_TYPE, )
SHMEMI_FOR_SIZES(DEFINE_SIZE, )
DEFINE_PUT_SIGNAL(putmem_signal, void, 1, true)
DEFINE_PUT_SIGNAL(putmem_signal_nbi, void, 1, false)
