/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signals and put with signal [9.8].
 */
#include "base/copy_bytes.h"
#include "shmem/check/check.h"
#include "shmem/internal.h"

bool shmemi_signal_is_set(const char *routine, int op)
{
    if (op != SHMEM_SIGNAL_SET && op != SHMEM_SIGNAL_ADD)
        shmemi_fatal("%s: %d is neither SHMEM_SIGNAL_SET nor SHMEM_SIGNAL_ADD", routine, op);
    return op == SHMEM_SIGNAL_SET;
}

static struct shmemi_amo update_of(const char *routine, struct shmemi_signal signal)
{
    return (struct shmemi_amo){
        .op = shmemi_signal_is_set(routine, signal.op) ? SHMEMI_AMO_SET : SHMEMI_AMO_ADD,
        .size = sizeof signal.value,
        .operand = signal.value,
    };
}

static void update_signal(struct shmemi_context *context, const char *routine, struct shmemi_signal signal, int pe)
{
    struct shmemi_amo amo = update_of(routine, signal);
    shmemi_amo(context, routine, signal.address, &amo, NULL, pe);
}

static void put_signal_by_driver(struct shmemi_context *context, const char *routine,
                                 const struct shmemi_payload *payload, struct shmemi_signal signal, int pe)
{
    struct shmemi_word_update word;
    struct shmemi_transfer put =
        shmemi_linear_transfer(routine, payload->dest, payload->source, payload->nbytes, pe, true);
    word.view = shmemi_reach_word(routine, signal.address, sizeof signal.value, pe, &word.offset);
    word.amo = update_of(routine, signal);
    put.context = context;
    put.is_blocking = payload->is_blocking;
    shmemi_transfer_checked(&put, payload->dest, payload->source, &word);
}

/* The signal is updated even if there is no payload. Bytes that this thread has stored need no more than a fence. */
void shmemi_put_signal(struct shmemi_context *context, const char *routine, const struct shmemi_payload *payload,
                       struct shmemi_signal signal, int pe)
{
    const size_t nbytes = payload->nbytes;
    char *there =
        nbytes && shmemi_is_host(payload->source, nbytes) ? shmemi_mapped_address(payload->dest, nbytes, pe) : NULL;
    if (nbytes && !there) {
        put_signal_by_driver(context, routine, payload, signal, pe);
        return;
    }
    if (nbytes)
        shmemi_copy_bytes(there, payload->source, nbytes);
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
    { shmemi_put_signal(&shmemi_default_ctx.transport, "shmem_" #NAME,                                                \
                        &(struct shmemi_payload){dest, source, shmemi_bytes_of(nelems, SIZE), IS_BLOCKING},                            \
                        (struct shmemi_signal){sig_addr, signal, sig_op}, pe); }                                       \
    SHMEMI_API(void, ctx_##NAME, (shmem_ctx_t ctx, ELEMENT *dest, const ELEMENT *source, size_t nelems,                \
                                  uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))                            \
    { shmemi_put_signal(shmemi_context_of(ctx), "shmem_ctx_" #NAME,                                                   \
                        &(struct shmemi_payload){dest, source, shmemi_bytes_of(nelems, SIZE), IS_BLOCKING},                            \
                        (struct shmemi_signal){sig_addr, signal, sig_op},                                              \
                        shmemi_world_pe(ctx, "shmem_ctx_" #NAME, pe)); }

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
