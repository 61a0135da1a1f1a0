/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Remote memory access [9.6]: contiguous transfers and single elements. The strided ones are in strided.c.
 */
#include "base/likely.h"
#include "shmem/check/check.h"
#include "shmem/internal.h"
#include "base/copy_bytes.h"
#include "transport/drivers/table.h"

/* ---- put and get -------------------------------------------------------------------------------------------------
 *
 * The short way is for host memory on both sides, with the peer's memory mapped into this process. It is inlined into
 * every public routine, where the element size is often a constant; a put of one word is then some twenty instructions.
 * Everything else, errors included, takes the long way, which starts again from the original arguments, so the short
 * way need not save anything. */

/* The short way again, with all checks: for ranges that are long, or lie at the end of a region. */
static inline __attribute__((always_inline)) bool is_copied(const void *symmetric, const void *local, size_t nbytes,
                                                            int pe, bool is_put)
{
    char *there = shmemi_is_host(local, nbytes) ? shmemi_mapped_address(symmetric, nbytes, pe) : NULL;
    if (!there)
        return false;
    shmemi_copy_bytes(is_put ? there : (char *)(uintptr_t)local, is_put ? local : there, nbytes);
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* of a get: what the thread does next, it does after these loads */
    return true;
}

/* How a routine goes on where the short way does not serve, and whether its local side is a variable in host memory. */
struct long_way {
    enum shmemi_rma_form form;
    bool is_host;
};

static __attribute__((noinline)) void go_long_way(void *dest, const void *source, size_t nbytes, int pe,
                                                  struct shmemi_context *context, const char *routine,
                                                  enum shmemi_rma_form form)
{
    const bool is_put = form & SHMEMI_PUT_NBI;
    const void *symmetric = is_put ? dest : source, *local = is_put ? source : dest;
    if (nbytes == 0 || is_copied(symmetric, local, nbytes, pe, is_put))
        return;
    struct shmemi_transfer transfer = shmemi_linear_transfer(routine, symmetric, local, nbytes, pe, is_put);
    transfer.context = context;
    transfer.is_blocking = form & SHMEMI_GET;
    shmemi_transfer_checked(&transfer, symmetric, local, NULL);
}

static inline __attribute__((always_inline)) void to_peer(struct shmemi_context *context, const char *routine,
                                                          void *dest, const void *source, size_t nbytes, int pe,
                                                          struct long_way way)
{
    char *there = NULL;
    if (shmemi_likely(nbytes <= SHMEMI_SHORT_BYTES && (way.is_host || shmemi_is_host_short(source))))
        there = shmemi_mapped_short(dest, pe);
    if (shmemi_likely(there != NULL))
        shmemi_copy_bytes(there, source, nbytes);
    else
        go_long_way(dest, source, nbytes, pe, context, routine, way.form);
}

static inline __attribute__((always_inline)) void from_peer(struct shmemi_context *context, const char *routine,
                                                            void *dest, const void *source, size_t nbytes, int pe,
                                                            struct long_way way)
{
    const char *there = NULL;
    if (shmemi_likely(nbytes <= SHMEMI_SHORT_BYTES && (way.is_host || shmemi_is_host_short(dest))))
        there = shmemi_mapped_short(source, pe);
    if (shmemi_unlikely(there == NULL)) {
        go_long_way(dest, source, nbytes, pe, context, routine, way.form);
        return;
    }
    shmemi_copy_bytes(dest, there, nbytes);
    if (way.form == SHMEMI_GET)
        __atomic_thread_fence(__ATOMIC_ACQUIRE); /* what the thread does next, it does after these loads */
}

static const struct long_way put_way = {SHMEMI_PUT, false}, get_way = {SHMEMI_GET, false},
                             put_nbi_way = {SHMEMI_PUT_NBI, false}, get_nbi_way = {SHMEMI_GET_NBI, false},
                             value_put_way = {SHMEMI_PUT, true}, value_get_way = {SHMEMI_GET, true};

void shmemi_rma(enum shmemi_rma_form form, struct shmemi_context *context, const char *routine, void *dest,
                const void *source, size_t nbytes, int pe)
{
    const struct long_way way = {form, false};
    if (form & SHMEMI_PUT_NBI)
        to_peer(context, routine, dest, source, nbytes, pe, way);
    else
        from_peer(context, routine, dest, source, nbytes, pe, way);
}

/* ---- the public forms -------------------------------------------------------------------------------------------- */

/* clang-format off */
#define DEFINE_TRANSFER(direction, verb, NAME, ELEMENT, SIZE)                                                          \
    SHMEMI_API(void, NAME, (ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe))                              \
    { direction(&shmemi_default_ctx.transport, "shmem_" #NAME, dest, source, shmemi_bytes_of(nelems, SIZE), pe, \
                verb##_way); }                                                                                    \
    SHMEMI_API(void, ctx_##NAME, (shmem_ctx_t ctx, ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe))       \
    { direction(shmemi_context_of(ctx), "shmem_ctx_" #NAME, dest, source, shmemi_bytes_of(nelems, SIZE),               \
                shmemi_world_pe(ctx, "shmem_ctx_" #NAME, pe), verb##_way); }

/* The value of p or g is a variable of the routine, so it is known to be in host memory. */
#define DEFINE_P_G(NAME, TYPE)                                                                                         \
    SHMEMI_API(void, NAME##_p, (TYPE *dest, TYPE value, int pe))                                                       \
    { to_peer(&shmemi_default_ctx.transport, "shmem_" #NAME "_p", dest, &value, sizeof value, pe,                      \
              value_put_way); }                                                                                    \
    SHMEMI_API(void, ctx_##NAME##_p, (shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe))                                \
    { to_peer(shmemi_context_of(ctx), "shmem_ctx_" #NAME "_p", dest, &value, sizeof value,                             \
              shmemi_world_pe(ctx, "shmem_ctx_" #NAME "_p", pe), value_put_way); }                           \
    SHMEMI_API(TYPE, NAME##_g, (const TYPE *source, int pe))                                                           \
    { TYPE value; from_peer(&shmemi_default_ctx.transport, "shmem_" #NAME "_g", &value, source, sizeof value, pe,      \
                            value_get_way); return value; }                                                             \
    SHMEMI_API(TYPE, ctx_##NAME##_g, (shmem_ctx_t ctx, const TYPE *source, int pe))                                    \
    { TYPE value; from_peer(shmemi_context_of(ctx), "shmem_ctx_" #NAME "_g", &value, source, sizeof value,             \
                            shmemi_world_pe(ctx, "shmem_ctx_" #NAME "_g", pe), value_get_way); return value; }

#define DEFINE_TYPE(NAME, TYPE, ...)                                                                                   \
    DEFINE_TRANSFER(to_peer, put, NAME##_put, TYPE, sizeof(TYPE))                                                      \
    DEFINE_TRANSFER(from_peer, get, NAME##_get, TYPE, sizeof(TYPE))                                                    \
    DEFINE_TRANSFER(to_peer, put_nbi, NAME##_put_nbi, TYPE, sizeof(TYPE))                                              \
    DEFINE_TRANSFER(from_peer, get_nbi, NAME##_get_nbi, TYPE, sizeof(TYPE))                                            \
    DEFINE_P_G(NAME, TYPE)

#define DEFINE_SIZE(BITS, BYTES, ...)                                                                                  \
    DEFINE_TRANSFER(to_peer, put, put##BITS, void, BYTES)                                                              \
    DEFINE_TRANSFER(from_peer, get, get##BITS, void, BYTES)                                                            \
    DEFINE_TRANSFER(to_peer, put_nbi, put##BITS##_nbi, void, BYTES)                                                    \
    DEFINE_TRANSFER(from_peer, get_nbi, get##BITS##_nbi, void, BYTES)
/* clang-format on */

SHMEMI_FOR_RMA_TYPES(DEFINE_TYPE, )
SHMEMI_FOR_SIZES(DEFINE_SIZE, )

DEFINE_TRANSFER(to_peer, put, putmem, void, 1)
DEFINE_TRANSFER(from_peer, get, getmem, void, 1)
DEFINE_TRANSFER(to_peer, put_nbi, putmem_nbi, void, 1)
DEFINE_TRANSFER(from_peer, get_nbi, getmem_nbi, void, 1)
