/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Remote memory access [9.6]: contiguous transfers and single elements. The strided ones are in strided.c.
 */
#include "base/likely.h"
#include "shmem/check/check.h"
#include "shmem/internal.h"
#include "base/copy_bytes.h"
#include "transport/drivers/table.h"

/* ---- text for the watchdog about transfers and addresses --------------------------------------------------------- */

void shmemi_append_address(char *text, size_t size, uint32_t region, size_t offset)
{
    if (region == SHMEMI_REGION_HEAP)
        shmemi_append(text, size, "offset %zu of the symmetric heap", offset);
    else if (region == SHMEMI_REGION_STATIC)
        shmemi_append(text, size, "offset %zu of static data", offset);
    else
        shmemi_append(text, size, "offset %zu of mapped region %u", offset, region);
}

void shmemi_describe_transfer(const struct shmemi_call *call, char *text, size_t size)
{
    const struct shmemi_transfer_call *transfer = (const struct shmemi_transfer_call *)call;
    shmemi_append(text, size, "%zu bytes at ", transfer->nbytes);
    shmemi_append_address(text, size, transfer->view->region, transfer->offset);
    shmemi_append(text, size, " of PE %d, route %s", transfer->view->pe, transfer->view->driver->name);
    shmemi_name_process(transfer->view->pe);
}

/* ---- put and get -------------------------------------------------------------------------------------------------
 *
 * The short way is for host memory on both sides, with the peer's memory mapped into this process. It is inlined into
 * every public routine, where the element size is often a constant; a put of one word is then some twenty instructions.
 * Everything else, errors included, takes the long way, which starts again from the original arguments, so the short
 * way need not save anything. */

typedef void (*long_way_t)(void *dest, const void *source, size_t nbytes, int pe, struct shmemi_context *context,
                           const char *routine);

/* Whether the driver has collected the transfer, to do it together with others; it may decline with -EAGAIN. */
static inline bool is_collected(int rc)
{
    if (rc == -EAGAIN)
        return false;
    shmemi_require(rc);
    return true;
}

/* The short way again, with all checks: for ranges that are long, or lie at the end of a region. */
static inline __attribute__((always_inline)) bool is_copied(const void *symmetric, const void *local, size_t nbytes,
                                                            int pe, bool is_put)
{
    char *there = shmemi_is_host(local, nbytes) ? shmemi_mapped_address(symmetric, nbytes, pe) : NULL;
    if (!there)
        return false;
    shmemi_copy_bytes(is_put ? there : (char *)(uintptr_t)local, is_put ? local : there, nbytes);
    return true;
}

/* The long way of all routines. A blocking get is never collected, and a blocking put only from host memory. */
static inline __attribute__((always_inline)) void transfer_unchecked(struct shmemi_context *context,
                                                                     const char *routine, const void *symmetric,
                                                                     const void *local, size_t nbytes, int pe,
                                                                     bool is_put, bool is_blocking)
{
    size_t offset;
    const struct shmemi_view *view = shmemi_reach(routine, symmetric, nbytes, pe, &offset);
    struct shmemi_place place = shmemi_local_place(routine, local, nbytes);
    const bool may_collect = !is_blocking || (is_put && place.memory == &shmemi_memory_host);
    const enum shmemi_transfer counted = is_blocking ? (is_put ? SHMEMI_TRANSFER_PUT : SHMEMI_TRANSFER_GET)
                                                     : (is_put ? SHMEMI_TRANSFER_PUT_NBI : SHMEMI_TRANSFER_GET_NBI);
    if (may_collect && view->driver->sinks &&
        is_collected(shmemi_issue_collect(routine, context, view, offset, &place, nbytes, counted)))
        return;
    struct shmemi_transfer_call call = shmemi_transfer_call(routine, view, offset, nbytes);
    shmemi_call_begin(&call.call);
    if (is_put)
        shmemi_require((is_blocking ? shmemi_issue_put : shmemi_issue_put_nbi)(context, view, offset, &place, nbytes));
    else
        shmemi_require((is_blocking ? shmemi_issue_get : shmemi_issue_get_nbi)(context, view, offset, &place, nbytes));
    shmemi_call_end(&call.call);
}

static inline __attribute__((always_inline)) void transfer(struct shmemi_context *context, const char *routine,
                                                           const void *symmetric, const void *local, size_t nbytes,
                                                           int pe, bool is_put, bool is_blocking)
{
    bool is_claimed = false;
    if (nbytes == 0 || is_copied(symmetric, local, nbytes, pe, is_put))
        return;
    if (shmemi_unlikely(shmemi_settings.check)) {
        is_claimed = shmemi_check_begin(routine, context);
        if (pe == shmemi_job.pe)
            shmemi_refuse_overlap(routine, symmetric, nbytes, local, nbytes, true);
    }
    transfer_unchecked(context, routine, symmetric, local, nbytes, pe, is_put, is_blocking);
    if (shmemi_unlikely(is_claimed))
        shmemi_check_end(context);
}

static __attribute__((noinline)) void put_long_way(void *dest, const void *source, size_t nbytes, int pe,
                                                   struct shmemi_context *context, const char *routine)
{
    transfer(context, routine, dest, source, nbytes, pe, true, true);
}

static __attribute__((noinline)) void get_long_way(void *dest, const void *source, size_t nbytes, int pe,
                                                   struct shmemi_context *context, const char *routine)
{
    transfer(context, routine, source, dest, nbytes, pe, false, true);
}

static __attribute__((noinline)) void put_nbi_long_way(void *dest, const void *source, size_t nbytes, int pe,
                                                       struct shmemi_context *context, const char *routine)
{
    transfer(context, routine, dest, source, nbytes, pe, true, false);
}

static __attribute__((noinline)) void get_nbi_long_way(void *dest, const void *source, size_t nbytes, int pe,
                                                       struct shmemi_context *context, const char *routine)
{
    transfer(context, routine, source, dest, nbytes, pe, false, false);
}

static inline __attribute__((always_inline)) void to_peer(struct shmemi_context *context, const char *routine,
                                                          void *dest, const void *source, size_t nbytes, int pe,
                                                          bool source_is_host, long_way_t long_way)
{
    char *there = NULL;
    if (shmemi_likely(nbytes <= SHMEMI_SHORT_BYTES && (source_is_host || shmemi_is_host_short(source))))
        there = shmemi_mapped_short(dest, pe);
    if (shmemi_likely(there != NULL))
        shmemi_copy_bytes(there, source, nbytes);
    else
        long_way(dest, source, nbytes, pe, context, routine);
}

static inline __attribute__((always_inline)) void from_peer(struct shmemi_context *context, const char *routine,
                                                            void *dest, const void *source, size_t nbytes, int pe,
                                                            bool dest_is_host, long_way_t long_way)
{
    const char *there = NULL;
    if (shmemi_likely(nbytes <= SHMEMI_SHORT_BYTES && (dest_is_host || shmemi_is_host_short(dest))))
        there = shmemi_mapped_short(source, pe);
    if (shmemi_likely(there != NULL))
        shmemi_copy_bytes(dest, there, nbytes);
    else
        long_way(dest, source, nbytes, pe, context, routine);
}

/* For the other files of the API. */
void shmemi_put(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes,
                int pe)
{
    to_peer(context, routine, dest, source, nbytes, pe, false, put_long_way);
}

void shmemi_get(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes,
                int pe)
{
    from_peer(context, routine, dest, source, nbytes, pe, false, get_long_way);
}

void shmemi_put_nbi(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes,
                    int pe)
{
    to_peer(context, routine, dest, source, nbytes, pe, false, put_nbi_long_way);
}

void shmemi_get_nbi(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes,
                    int pe)
{
    from_peer(context, routine, dest, source, nbytes, pe, false, get_nbi_long_way);
}

/* ---- the public forms -------------------------------------------------------------------------------------------- */

/* clang-format off */
#define DEFINE_TRANSFER(direction, verb, NAME, ELEMENT, SIZE)                                                          \
    SHMEMI_API(void, NAME, (ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe))                              \
    { direction(&shmemi_default_ctx.transport, "shmem_" #NAME, dest, source, shmemi_bytes_of(nelems, SIZE), pe, false, \
                verb##_long_way); }                                                                                    \
    SHMEMI_API(void, ctx_##NAME, (shmem_ctx_t ctx, ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe))       \
    { direction(shmemi_context_of(ctx), "shmem_ctx_" #NAME, dest, source, shmemi_bytes_of(nelems, SIZE),               \
                shmemi_world_pe(ctx, "shmem_ctx_" #NAME, pe), false, verb##_long_way); }

/* The value of p or g is a variable of the routine, so it is known to be in host memory. */
#define DEFINE_P_G(NAME, TYPE)                                                                                         \
    SHMEMI_API(void, NAME##_p, (TYPE *dest, TYPE value, int pe))                                                       \
    { to_peer(&shmemi_default_ctx.transport, "shmem_" #NAME "_p", dest, &value, sizeof value, pe, true,                \
              put_long_way); }                                                                                    \
    SHMEMI_API(void, ctx_##NAME##_p, (shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe))                                \
    { to_peer(shmemi_context_of(ctx), "shmem_ctx_" #NAME "_p", dest, &value, sizeof value,                             \
              shmemi_world_pe(ctx, "shmem_ctx_" #NAME "_p", pe), true, put_long_way); }                                \
    SHMEMI_API(TYPE, NAME##_g, (const TYPE *source, int pe))                                                           \
    { TYPE value; from_peer(&shmemi_default_ctx.transport, "shmem_" #NAME "_g", &value, source, sizeof value, pe, true,\
                            get_long_way); return value; }                                                             \
    SHMEMI_API(TYPE, ctx_##NAME##_g, (shmem_ctx_t ctx, const TYPE *source, int pe))                                    \
    { TYPE value; from_peer(shmemi_context_of(ctx), "shmem_ctx_" #NAME "_g", &value, source, sizeof value,             \
                            shmemi_world_pe(ctx, "shmem_ctx_" #NAME "_g", pe), true, get_long_way); return value; }

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
