/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strided [9.6.1.3, 9.6.1.7] and block-strided [9.6.1.4, 9.6.1.8] transfers.
 */
#include "shmem/internal.h"

static struct shmemi_shape shape_of(const char *routine, const struct shmemi_strides *strides)
{
    const ptrdiff_t least = (ptrdiff_t)strides->block;
    if (strides->block > PTRDIFF_MAX || strides->dest < least || strides->source < least)
        shmemi_fatal("%s: strides must be at least %zu, not %td and %td", routine, strides->block, strides->dest,
                     strides->source);
    return (struct shmemi_shape){
        .width = shmemi_bytes_of(strides->block, strides->size),
        .rows = strides->nelems,
        .dest_pitch = shmemi_bytes_of((size_t)strides->dest, strides->size),
        .source_pitch = shmemi_bytes_of((size_t)strides->source, strides->size),
    };
}

/* Bytes from the start of the first row to the end of the last; SIZE_MAX, which no region holds, on overflow. */
static size_t extent(const struct shmemi_shape *shape, size_t pitch)
{
    size_t bytes;
    if (__builtin_mul_overflow(shape->rows - 1, pitch, &bytes) || __builtin_add_overflow(bytes, shape->width, &bytes))
        return SIZE_MAX;
    return bytes;
}

static bool is_empty(const struct shmemi_strides *strides)
{
    return strides->nelems == 0 || strides->block == 0;
}

void shmemi_iput(struct shmemi_context *context, const char *routine, void *dest, const void *source,
                 struct shmemi_strides strides, int pe)
{
    size_t offset;
    if (is_empty(&strides))
        return;
    struct shmemi_shape shape = shape_of(routine, &strides);
    if (shmemi_shape_is_dense(&shape)) {
        shmemi_put(context, routine, dest, source, shmemi_bytes_of(shape.rows, shape.width), pe);
        return;
    }
    const struct shmemi_view *view = shmemi_reach(routine, dest, extent(&shape, shape.dest_pitch), pe, &offset);
    struct shmemi_place place = shmemi_local_place(source, extent(&shape, shape.source_pitch));
    struct shmemi_transfer_call call = shmemi_transfer_call(routine, view, offset, shape.width * shape.rows);
    shmemi_call_begin(&call.call);
    shmemi_require(view->driver->put_strided(context, view, offset, &place, &shape));
    shmemi_call_end(&call.call);
}

void shmemi_iget(struct shmemi_context *context, const char *routine, void *dest, const void *source,
                 struct shmemi_strides strides, int pe)
{
    size_t offset;
    if (is_empty(&strides))
        return;
    struct shmemi_shape shape = shape_of(routine, &strides);
    if (shmemi_shape_is_dense(&shape)) {
        shmemi_get(context, routine, dest, source, shmemi_bytes_of(shape.rows, shape.width), pe);
        return;
    }
    const struct shmemi_view *view = shmemi_reach(routine, source, extent(&shape, shape.source_pitch), pe, &offset);
    struct shmemi_place place = shmemi_local_place(dest, extent(&shape, shape.dest_pitch));
    struct shmemi_transfer_call call = shmemi_transfer_call(routine, view, offset, shape.width * shape.rows);
    shmemi_call_begin(&call.call);
    shmemi_require(view->driver->get_strided(context, view, offset, &place, &shape));
    shmemi_call_end(&call.call);
}

/* clang-format off */
#define DEFINE_STRIDED(verb, NAME, ELEMENT, SIZE)                                                                      \
    SHMEMI_API(void, NAME, (ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)) \
    { shmemi_##verb(&shmemi_default_ctx.transport, "shmem_" #NAME, dest, source,                                       \
                    (struct shmemi_strides){SIZE, nelems, dst, sst, 1}, pe); }                                         \
    SHMEMI_API(void, ctx_##NAME, (shmem_ctx_t ctx, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, \
                                  size_t nelems, int pe))                                                              \
    { shmemi_##verb(shmemi_context_of(ctx), "shmem_ctx_" #NAME, dest, source,                                          \
                    (struct shmemi_strides){SIZE, nelems, dst, sst, 1},                                                \
                    shmemi_world_pe(ctx, "shmem_ctx_" #NAME, pe)); }

#define DEFINE_BLOCKS(verb, NAME, ELEMENT, SIZE)                                                                       \
    SHMEMI_API(void, NAME, (ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,          \
                            size_t nblocks, int pe))                                                                   \
    { shmemi_##verb(&shmemi_default_ctx.transport, "shmem_" #NAME, dest, source,                                       \
                    (struct shmemi_strides){SIZE, nblocks, dst, sst, bsize}, pe); }                                    \
    SHMEMI_API(void, ctx_##NAME, (shmem_ctx_t ctx, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, \
                                  size_t bsize, size_t nblocks, int pe))                                               \
    { shmemi_##verb(shmemi_context_of(ctx), "shmem_ctx_" #NAME, dest, source,                                          \
                    (struct shmemi_strides){SIZE, nblocks, dst, sst, bsize},                                           \
                    shmemi_world_pe(ctx, "shmem_ctx_" #NAME, pe)); }

#define DEFINE_TYPE(NAME, TYPE, ...)                                                                                   \
    DEFINE_STRIDED(iput, NAME##_iput, TYPE, sizeof(TYPE))                                                              \
    DEFINE_STRIDED(iget, NAME##_iget, TYPE, sizeof(TYPE))                                                              \
    DEFINE_BLOCKS(iput, NAME##_ibput, TYPE, sizeof(TYPE))                                                              \
    DEFINE_BLOCKS(iget, NAME##_ibget, TYPE, sizeof(TYPE))

#define DEFINE_SIZE(BITS, BYTES, ...)                                                                                  \
    DEFINE_STRIDED(iput, iput##BITS, void, BYTES)                                                                      \
    DEFINE_STRIDED(iget, iget##BITS, void, BYTES)                                                                      \
    DEFINE_BLOCKS(iput, ibput##BITS, void, BYTES)                                                                      \
    DEFINE_BLOCKS(iget, ibget##BITS, void, BYTES)
/* clang-format on */

SHMEMI_FOR_RMA_TYPES(DEFINE_TYPE, )
SHMEMI_FOR_SIZES(DEFINE_SIZE, )
