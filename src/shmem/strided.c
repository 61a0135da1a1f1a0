/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strided [9.6.1.3, 9.6.1.7] and block-strided [9.6.1.4, 9.6.1.8] transfers, and those of boxes, which are an extension.
 */
#include "shmem/check/check.h"
#include "shmem/shmemx.h"

/* Blocks of elements of size bytes. */
struct stride_args {
    size_t size, nelems;    /* bytes of an element, number of blocks */
    ptrdiff_t dest, source; /* from block to block, in elements; at least a block */
    size_t block;           /* elements in a block: 1 for iput and iget */
};

static struct shmemi_shape shape_of(const char *routine, const struct stride_args *strides)
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

struct shmemi_shape shmemi_elements_shape(const char *routine, size_t size, size_t nelems, ptrdiff_t dst, ptrdiff_t sst)
{
    const struct stride_args strides = {size, nelems, dst, sst, 1};
    return nelems ? shape_of(routine, &strides) : (struct shmemi_shape){0};
}

static void transfer_shape(struct shmemi_context *context, const char *routine, void *dest, const void *source,
                           const struct shmemi_shape *shape, int pe, enum shmemi_rma_form form)
{
    const bool is_put = form & SHMEMI_PUT_NBI;
    if (shmemi_shape_is_dense(shape)) {
        shmemi_rma(form, context, routine, dest, source, shmemi_bytes_of(shape->rows, shape->width), pe);
        return;
    }
    const void *symmetric = is_put ? dest : source, *local = is_put ? source : dest;
    struct shmemi_transfer transfer =
        shmemi_transfer_of(routine, symmetric, local, shape, pe, is_put, shmemi_local_place);
    transfer.context = context;
    transfer.is_blocking = form & SHMEMI_GET;
    shmemi_transfer_checked(&transfer, symmetric, local, NULL);
}

static void transfer(struct shmemi_context *context, const char *routine, void *dest, const void *source,
                     struct stride_args strides, int pe, bool is_put)
{
    if (strides.nelems == 0 || strides.block == 0)
        return;
    const struct shmemi_shape shape = shape_of(routine, &strides);
    transfer_shape(context, routine, dest, source, &shape, pe, is_put ? SHMEMI_PUT : SHMEMI_GET);
}

/* clang-format off */
#define DEFINE_STRIDED(NAME, ELEMENT, SIZE, IS_PUT)                                                                    \
    SHMEMI_API(void, NAME, (ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))\
    { transfer(&shmemi_default_ctx.transport, "shmem_" #NAME, dest, source,                                            \
               (struct stride_args){SIZE, nelems, dst, sst, 1}, pe, IS_PUT); }                                             \
    SHMEMI_API(void, ctx_##NAME, (shmem_ctx_t ctx, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, \
                                  size_t nelems, int pe))                                                              \
    { transfer(shmemi_context_of(ctx), "shmem_ctx_" #NAME, dest, source,                                               \
               (struct stride_args){SIZE, nelems, dst, sst, 1},                                                            \
               shmemi_world_pe(ctx, "shmem_ctx_" #NAME, pe), IS_PUT); }

#define DEFINE_BLOCKS(NAME, ELEMENT, SIZE, IS_PUT)                                                                     \
    SHMEMI_API(void, NAME, (ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize,          \
                            size_t nblocks, int pe))                                                                   \
    { transfer(&shmemi_default_ctx.transport, "shmem_" #NAME, dest, source,                                            \
               (struct stride_args){SIZE, nblocks, dst, sst, bsize}, pe, IS_PUT); }                                        \
    SHMEMI_API(void, ctx_##NAME, (shmem_ctx_t ctx, ELEMENT *dest, const ELEMENT *source, ptrdiff_t dst, ptrdiff_t sst, \
                                  size_t bsize, size_t nblocks, int pe))                                               \
    { transfer(shmemi_context_of(ctx), "shmem_ctx_" #NAME, dest, source,                                               \
               (struct stride_args){SIZE, nblocks, dst, sst, bsize},                                                       \
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

/* ---- Boxes --------------------------------------------------------------------------------------------------- */

static void require_steps(const char *routine, const char *side, const struct shmemi_steps *steps,
                          const shmemx_box_t *box)
{
    const size_t layer = box->rows > 1 ? shmemi_bytes_of(box->rows, steps->row) : box->width;
    if (box->rows > 1 && steps->row < box->width)
        shmemi_fatal("%s: rows of %zu bytes cannot begin every %zu bytes in %s", routine, box->width, steps->row, side);
    if (box->layers > 1 && steps->layer < layer)
        shmemi_fatal("%s: layers of %zu rows, %zu bytes in all, cannot begin every %zu bytes in %s", routine, box->rows,
                     layer, steps->layer, side);
}

static void transfer_box(struct shmemi_context *context, const char *routine, void *dest, const void *source,
                         const shmemx_box_t *box, int pe, enum shmemi_rma_form form)
{
    shmemi_require_pointer(routine, "box", box);
    if (!box->width || !box->rows || !box->layers)
        return;
    const struct shmemi_steps to = {box->dest_row_pitch, box->dest_layer_pitch};
    const struct shmemi_steps from = {box->source_row_pitch, box->source_layer_pitch};
    require_steps(routine, "dest", &to, box);
    require_steps(routine, "source", &from, box);
    if (shmemi_bytes_of(shmemi_bytes_of(box->rows, box->layers), box->width) == SIZE_MAX)
        shmemi_fatal("%s: %zu layers of %zu rows of %zu bytes are more than memory can hold", routine, box->layers,
                     box->rows, box->width);
    const struct shmemi_shape shape = shmemi_shape_box(box->width, box->rows, box->layers, to, from);
    transfer_shape(context, routine, dest, source, &shape, pe, form);
}

/* clang-format off */
#define DEFINE_BOX(NAME, FORM)                                                                                         \
    SHMEMI_EXPORT void shmemx_##NAME(void *dest, const void *source, const shmemx_box_t *box, int pe)                  \
    { transfer_box(&shmemi_default_ctx.transport, "shmemx_" #NAME, dest, source, box, pe, FORM); }                         \
    SHMEMI_EXPORT void shmemx_ctx_##NAME(shmem_ctx_t ctx, void *dest, const void *source, const shmemx_box_t *box,     \
                                         int pe)                                                                       \
    { transfer_box(shmemi_context_of(ctx), "shmemx_ctx_" #NAME, dest, source, box,                                         \
               shmemi_world_pe(ctx, "shmemx_ctx_" #NAME, pe), FORM); }
/* clang-format on */

DEFINE_BOX(put_box, SHMEMI_PUT)
DEFINE_BOX(get_box, SHMEMI_GET)
DEFINE_BOX(put_box_nbi, SHMEMI_PUT_NBI)
DEFINE_BOX(get_box_nbi, SHMEMI_GET_NBI)
