/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Remote memory access [9.6] and memory ordering [9.12].
 */
#include "shmem/internal.h"
#include "transport/copy_bytes.h"

/* Host memory on this side needs no look-up; anything else does. */
static inline struct shmemi_place local_place(const void *address, size_t nbytes)
{
    struct shmemi_place place;
    if (__builtin_expect(shmemi_is_host(address), 1))
        return shmemi_place_host(address);
    if (shmemi_place_of(address, nbytes, &place))
        shmemi_give_up();
    return place;
}

static inline void require(int rc)
{
    if (__builtin_expect(rc, 0))
        shmemi_give_up();
}

/* ---- put and get -------------------------------------------------------------------------------------------------
 *
 * The short way: the peer's memory is mapped here as host memory, and so is this side's. It is inlined into every
 * public routine that is made of these transfers, where the size of the element is often a constant; a put of one word
 * is then some twenty instructions. Whatever does not fit, errors included, takes the long way, which starts afresh
 * with the arguments as they came: so the short way has nothing to keep. */

typedef void (*put_func_t)(void *dest, const void *source, size_t nbytes, int pe, struct shmemi_context *context,
                           const char *routine);
typedef void (*get_func_t)(void *dest, const void *source, size_t nbytes, int pe, struct shmemi_context *context,
                           const char *routine);

/* Where the peer's copy of a symmetric object lies in this process. NULL when it is not mapped as host memory, or an
 * argument is wrong. */
static inline char *mapped_address(const void *address, size_t nbytes, int pe)
{
    const struct shmemi_region *region = shmemi_region_of(address);
    if (__builtin_expect(!region || (unsigned)pe >= (unsigned)shmemi_job.n_pes, 0))
        return NULL;
    size_t offset = (size_t)((const char *)address - region->base);
    char *mapped = region->view[pe].mapped;
    return __builtin_expect(mapped && shmemi_region_holds(region, offset, nbytes), 1) ? mapped + offset : NULL;
}

static __attribute__((noinline)) void put_long_way(void *dest, const void *source, size_t nbytes, int pe,
                                                   struct shmemi_context *context, const char *routine)
{
    size_t offset;
    if (nbytes == 0)
        return;
    const struct shmemi_view *view = shmemi_reach(routine, dest, nbytes, pe, &offset);
    struct shmemi_place place = local_place(source, nbytes);
    require(view->driver->put(context, view, offset, &place, nbytes));
}

static __attribute__((noinline)) void get_long_way(void *dest, const void *source, size_t nbytes, int pe,
                                                   struct shmemi_context *context, const char *routine)
{
    size_t offset;
    if (nbytes == 0)
        return;
    const struct shmemi_view *view = shmemi_reach(routine, source, nbytes, pe, &offset);
    struct shmemi_place place = local_place(dest, nbytes);
    require(view->driver->get(context, view, offset, &place, nbytes));
}

static __attribute__((noinline)) void put_nbi_long_way(void *dest, const void *source, size_t nbytes, int pe,
                                                       struct shmemi_context *context, const char *routine)
{
    size_t offset;
    if (nbytes == 0)
        return;
    const struct shmemi_view *view = shmemi_reach(routine, dest, nbytes, pe, &offset);
    struct shmemi_place place = local_place(source, nbytes);
    require(view->driver->put_nbi(context, view, offset, &place, nbytes));
}

static __attribute__((noinline)) void get_nbi_long_way(void *dest, const void *source, size_t nbytes, int pe,
                                                       struct shmemi_context *context, const char *routine)
{
    size_t offset;
    if (nbytes == 0)
        return;
    const struct shmemi_view *view = shmemi_reach(routine, source, nbytes, pe, &offset);
    struct shmemi_place place = local_place(dest, nbytes);
    require(view->driver->get_nbi(context, view, offset, &place, nbytes));
}

static inline __attribute__((always_inline)) void
to_peer(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes, int pe,
        bool source_is_host, put_func_t long_way)
{
    char *there = NULL;
    if (__builtin_expect(source_is_host || shmemi_is_host(source), 1))
        there = mapped_address(dest, nbytes, pe);
    if (__builtin_expect(there != NULL, 1))
        shmemi_copy_bytes(there, source, nbytes);
    else
        long_way(dest, source, nbytes, pe, context, routine);
}

static inline __attribute__((always_inline)) void
from_peer(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes, int pe,
          bool dest_is_host, get_func_t long_way)
{
    const char *there = NULL;
    if (__builtin_expect(dest_is_host || shmemi_is_host(dest), 1))
        there = mapped_address(source, nbytes, pe);
    if (__builtin_expect(there != NULL, 1))
        shmemi_copy_bytes(dest, there, nbytes);
    else
        long_way(dest, source, nbytes, pe, context, routine);
}

static inline __attribute__((always_inline)) void
put(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes, int pe)
{
    to_peer(context, routine, dest, source, nbytes, pe, false, put_long_way);
}

static inline __attribute__((always_inline)) void
get(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes, int pe)
{
    from_peer(context, routine, dest, source, nbytes, pe, false, get_long_way);
}

static inline __attribute__((always_inline)) void
put_nbi(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes, int pe)
{
    to_peer(context, routine, dest, source, nbytes, pe, false, put_nbi_long_way);
}

static inline __attribute__((always_inline)) void
get_nbi(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes, int pe)
{
    from_peer(context, routine, dest, source, nbytes, pe, false, get_nbi_long_way);
}

/* Of one element, whose value is a variable of the routine: host memory without a question. */
static inline __attribute__((always_inline)) void
put_value(struct shmemi_context *context, const char *routine, void *dest, const void *value, size_t nbytes, int pe)
{
    to_peer(context, routine, dest, value, nbytes, pe, true, put_long_way);
}

static inline __attribute__((always_inline)) void
get_value(struct shmemi_context *context, const char *routine, void *value, const void *source, size_t nbytes, int pe)
{
    from_peer(context, routine, value, source, nbytes, pe, true, get_long_way);
}

/* For the other files of the API. */
void shmemi_put(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes,
                int pe)
{
    put(context, routine, dest, source, nbytes, pe);
}

void shmemi_get(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes,
                int pe)
{
    get(context, routine, dest, source, nbytes, pe);
}

void shmemi_put_nbi(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes,
                    int pe)
{
    put_nbi(context, routine, dest, source, nbytes, pe);
}

void shmemi_get_nbi(struct shmemi_context *context, const char *routine, void *dest, const void *source, size_t nbytes,
                    int pe)
{
    get_nbi(context, routine, dest, source, nbytes, pe);
}

/* ---- strided ----------------------------------------------------------------------------------------------------- */

static struct shmemi_shape shape_of(const char *routine, const struct shmemi_strides *strides)
{
    if (strides->dest < 1 || strides->source < 1)
        shmemi_fatal("%s: strides must be at least 1, not %td and %td", routine, strides->dest, strides->source);
    return (struct shmemi_shape){
        .width = strides->size,
        .rows = strides->nelems,
        .dest_pitch = shmemi_bytes_of((size_t)strides->dest, strides->size),
        .source_pitch = shmemi_bytes_of((size_t)strides->source, strides->size),
    };
}

/* Bytes from the first byte of the first row to the last of the last; SIZE_MAX, which no region holds, on overflow. */
static size_t extent(const struct shmemi_shape *shape, size_t pitch)
{
    size_t bytes;
    if (__builtin_mul_overflow(shape->rows - 1, pitch, &bytes) || __builtin_add_overflow(bytes, shape->width, &bytes))
        return SIZE_MAX;
    return bytes;
}

static bool is_dense(const struct shmemi_strides *strides)
{
    return strides->dest == 1 && strides->source == 1;
}

void shmemi_iput(struct shmemi_context *context, const char *routine, void *dest, const void *source,
                 struct shmemi_strides strides, int pe)
{
    size_t offset;
    if (strides.nelems == 0)
        return;
    if (is_dense(&strides)) {
        shmemi_put(context, routine, dest, source, shmemi_bytes_of(strides.nelems, strides.size), pe);
        return;
    }
    struct shmemi_shape shape = shape_of(routine, &strides);
    const struct shmemi_view *view =
        shmemi_reach(routine, dest, extent(&shape, shape.dest_pitch), pe, &offset);
    struct shmemi_place place = local_place(source, extent(&shape, shape.source_pitch));
    require(view->driver->put_strided(context, view, offset, &place, &shape));
}

void shmemi_iget(struct shmemi_context *context, const char *routine, void *dest, const void *source,
                 struct shmemi_strides strides, int pe)
{
    size_t offset;
    if (strides.nelems == 0)
        return;
    if (is_dense(&strides)) {
        shmemi_get(context, routine, dest, source, shmemi_bytes_of(strides.nelems, strides.size), pe);
        return;
    }
    struct shmemi_shape shape = shape_of(routine, &strides);
    const struct shmemi_view *view =
        shmemi_reach(routine, source, extent(&shape, shape.source_pitch), pe, &offset);
    struct shmemi_place place = local_place(dest, extent(&shape, shape.dest_pitch));
    require(view->driver->get_strided(context, view, offset, &place, &shape));
}

/* ---- ordering ---------------------------------------------------------------------------------------------------- */

void shmemi_fence(struct shmemi_context *context)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (context->pending)
        require(shmemi_drivers_fence(context));
}

void shmemi_quiet(struct shmemi_context *context)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (context->pending)
        require(shmemi_drivers_quiet(context));
}

SHMEMI_API(void, fence, (void))
{
    shmemi_fence(&shmemi_default_context);
}

SHMEMI_API(void, quiet, (void))
{
    shmemi_quiet(&shmemi_default_context);
}

/* ---- the public forms -------------------------------------------------------------------------------------------- */

#define CONTEXT (&shmemi_default_context)

/* clang-format off */
#define DEFINE_TRANSFER(verb, NAME, ELEMENT, SIZE)                                                                     \
    SHMEMI_API(void, NAME, (ELEMENT *dest, const ELEMENT *source, size_t nelems, int pe))                              \
    { verb(CONTEXT, "shmem_" #NAME, dest, source, shmemi_bytes_of(nelems, SIZE), pe); }

#define DEFINE_STRIDED(verb, NAME, ELEMENT, SIZE)                                                                      \
    SHMEMI_API(void, NAME, (ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)) \
    { shmemi_##verb(CONTEXT, "shmem_" #NAME, dest, source, (struct shmemi_strides){SIZE, nelems, dst, sst}, pe); }

#define DEFINE_PUT_SIGNAL(NAME, ELEMENT, SIZE)                                                                         \
    SHMEMI_API(void, NAME, (ELEMENT *dest, const ELEMENT *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,  \
                            int sig_op, int pe))                                                                       \
    { shmemi_put_signal(CONTEXT, "shmem_" #NAME, dest, source, shmemi_bytes_of(nelems, SIZE),                          \
                        (struct shmemi_signal){sig_addr, signal, sig_op}, pe); }

#define DEFINE_P_G(NAME, TYPE)                                                                                         \
    SHMEMI_API(void, NAME##_p, (TYPE *dest, TYPE value, int pe))                                                       \
    { put_value(CONTEXT, "shmem_" #NAME "_p", dest, &value, sizeof value, pe); }                                      \
    SHMEMI_API(TYPE, NAME##_g, (const TYPE *source, int pe))                                                           \
    { TYPE value; get_value(CONTEXT, "shmem_" #NAME "_g", &value, source, sizeof value, pe); return value; }

#define DEFINE_TYPE(NAME, TYPE, ...)                                                                                   \
    DEFINE_TRANSFER(put, NAME##_put, TYPE, sizeof(TYPE))                                                               \
    DEFINE_TRANSFER(get, NAME##_get, TYPE, sizeof(TYPE))                                                               \
    DEFINE_TRANSFER(put_nbi, NAME##_put_nbi, TYPE, sizeof(TYPE))                                                       \
    DEFINE_TRANSFER(get_nbi, NAME##_get_nbi, TYPE, sizeof(TYPE))                                                       \
    DEFINE_STRIDED(iput, NAME##_iput, TYPE, sizeof(TYPE))                                                              \
    DEFINE_STRIDED(iget, NAME##_iget, TYPE, sizeof(TYPE))                                                              \
    DEFINE_PUT_SIGNAL(NAME##_put_signal, TYPE, sizeof(TYPE))                                                           \
    DEFINE_P_G(NAME, TYPE)

#define DEFINE_SIZE(BITS, BYTES, ...)                                                                                  \
    DEFINE_TRANSFER(put, put##BITS, void, BYTES)                                                                       \
    DEFINE_TRANSFER(get, get##BITS, void, BYTES)                                                                       \
    DEFINE_TRANSFER(put_nbi, put##BITS##_nbi, void, BYTES)                                                             \
    DEFINE_TRANSFER(get_nbi, get##BITS##_nbi, void, BYTES)                                                             \
    DEFINE_STRIDED(iput, iput##BITS, void, BYTES)                                                                      \
    DEFINE_STRIDED(iget, iget##BITS, void, BYTES)                                                                      \
    DEFINE_PUT_SIGNAL(put##BITS##_signal, void, BYTES)
/* clang-format on */

SHMEMI_FOR_RMA_TYPES(DEFINE_TYPE, )
SHMEMI_FOR_SIZES(DEFINE_SIZE, )

DEFINE_TRANSFER(put, putmem, void, 1)
DEFINE_TRANSFER(get, getmem, void, 1)
DEFINE_TRANSFER(put_nbi, putmem_nbi, void, 1)
DEFINE_TRANSFER(get_nbi, getmem_nbi, void, 1)
DEFINE_PUT_SIGNAL(putmem_signal, void, 1)
