/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strided [9.6.1.3, 9.6.1.7] and block-strided [9.6.1.4, 9.6.1.8] transfers.
 */
#include "shmem/check/check.h"

/* Blocks of elements of size bytes. */
struct strides {
    size_t size, nelems;    /* bytes of an element, number of blocks */
    ptrdiff_t dest, source; /* from block to block, in elements; at least a block */
    size_t block;           /* elements in a block: 1 for iput and iget */
};

static struct shmemi_shape shape_of(const char *routine, const struct strides *strides)
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

static void transfer(struct shmemi_context *context, const char *routine, void *dest, const void *source,
                     struct strides strides, int pe, bool is_put)
{
    if (strides.nelems == 0 || strides.block == 0)
        return;
    const struct shmemi_shape shape = shape_of(routine, &strides);
    if (shmemi_shape_is_dense(&shape)) {
        (is_put ? shmemi_put : shmemi_get)(context, routine, dest, source, shmemi_bytes_of(shape.rows, shape.width),
                                           pe);
        return;
    }
    const size_t dest_bytes = extent(&shape, shape.dest_pitch), source_bytes = extent(&shape, shape.source_pitch);
    size_t offset;
    const struct shmemi_view *view = is_put ? shmemi_reach(routine, dest, dest_bytes, pe, &offset)
                                            : shmemi_reach(routine, source, source_bytes, pe, &offset);
    struct shmemi_place place = shmemi_local_place(routine, is_put ? source : dest, is_put ? source_bytes : dest_bytes);
    shmemi_check_thread(routine, context);
    struct shmemi_transfer_call call = shmemi_transfer_call(routine, view, offset, shape.width * shape.rows);
    shmemi_call_begin(&call.call);
    shmemi_require(is_put ? view->driver->put_strided(context, view, offset, &place, &shape)
                          : view->driver->get_strided(context, view, offset, &place, &shape));
    shmemi_call_end(&call.call);
}

/* clang-format off */
#define DEFINE_STRIDED(NAME, ELEMENT, SIZE, IS_PUT)                                                                    \
    SHMEMI_API(void, NAME, (ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))\
    { transfer(&shmemi_default_ctx.transport, "shmem_" #NAME, dest, source,                                            \
               (struct strides){SIZE, nelems, dst, sst, 1}, pe, IS_PUT); }                                             \
    SHMEMI_API(void, ctx_##NAME, (shmem_ctx_t ctx, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, \
                                  size_t nelems, int pe))                                                              \
    { transfer(shmemi_context_of(ctx), "shmem_ctx_" #NAME, dest, source,                                               \
               (struct strides){SIZE, nelems, dst, sst, 1},                                                            \
               shmemi_world_pe(ctx, "shmem_ctx_" #NAME, pe), IS_PUT); }

#define DEFINE_BLOCKS(NAME, ELEMENT, SIZE, IS_PUT)                                                                     \
    SHMEMI_API(void, NAME, (ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,          \
                            size_t nblocks, int pe))                                                                   \
    { transfer(&shmemi_default_ctx.transport, "shmem_" #NAME, dest, source,                                            \
               (struct strides){SIZE, nblocks, dst, sst, bsize}, pe, IS_PUT); }                                        \
    SHMEMI_API(void, ctx_##NAME, (shmem_ctx_t ctx, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, \
                                  size_t bsize, size_t nblocks, int pe))                                               \
    { transfer(shmemi_context_of(ctx), "shmem_ctx_" #NAME, dest, source,                                               \
               (struct strides){SIZE, nblocks, dst, sst, bsize},                                                       \
               shmemi_world_pe(ctx, "shmem_ctx_" #NAME, pe), IS_PUT); }

#define DEFINE_TYPE(NAME, TYPE, ...)                                                                                   \
    DEFINE_STRIDED(NAME##_iput, TYPE, sizeof(TYPE), true)                                                              \
    DEFINE_STRIDED(NAME##_iget, TYPE, sizeof(TYPE), false)                                                             \
    DEFINE_BLOCKS(NAME##_ibput, TYPE, sizeof(TYPE), true)                                                              \
    DEFINE_BLOCKS(NAME##_ibget, TYPE, sizeof(TYPE), false)

#define DEFINE_SIZE(BITS, BYTES, ...)                                                                                  \
    DEFINE_STRIDED(iput##BITS, void, BYTES, true)                                                                      \
    DEFINE_STRIDED(iget##BITS, void, BYTES, false)                                                                     \
    DEFINE_BLOCKS(ibput##BITS, void, BYTES, true)                                                                      \
    DEFINE_BLOCKS(ibget##BITS, void, BYTES, false)
/* clang-format on */

SHMEMI_FOR_RMA_TYPES(DEFINE_TYPE, )
SHMEMI_FOR_SIZES(DEFINE_SIZE, )
