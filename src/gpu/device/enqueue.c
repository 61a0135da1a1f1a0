/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One copy of CUDA memory, enqueued in a stream: chooses which of the driver's calls, or the kernel, carries it out.
 */
#include "base/likely.h"
#include "gpu/device/gpu_context.h"

#include <errno.h>
#include <limits.h>

enum { PITCH_MAX = INT_MAX }; /* CU_DEVICE_ATTRIBUTE_MAX_PITCH of all devices */

/* ---- Short writes on a GPU that is used in turns -------------------------------------------------------------------
 * The driver writes up to some 24 KiB, from pageable memory a little more, by the processors of the GPU: the write waits
 * for the turn of its process. A rectangle, even if its rows leave no gaps, is always written by a copy engine. Measured
 * on an H200 with two processes that write alternately: 142 us, as two rows 9. Reads are the copy engines' anyway. */

enum { TURN_BYTES = 64 << 10 };

static CUresult write_two_rows(const struct shmemi_place *dest, const struct shmemi_place *source, size_t width,
                               size_t offset, CUstream stream)
{
    const CUDA_MEMCPY2D rows = {
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = (const char *)source->address + offset,
        .srcPitch = width,
        .dstMemoryType = dest->object ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED,
        .dstDevice = dest->address + offset,
        .dstPitch = width,
        .WidthInBytes = width,
        .Height = 2,
    };
    return shmemi_cuda.cuMemcpy2DAsync(&rows, stream);
}

/* Two rows of half the bytes; of an odd number, the last two once more. */
static CUresult write_without_turn(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes,
                                   CUstream stream)
{
    CUresult result = write_two_rows(dest, source, nbytes / 2, 0, stream);
    return result == CUDA_SUCCESS && nbytes % 2 ? write_two_rows(dest, source, 1, nbytes - 2, stream) : result;
}

static inline bool would_await_turn(size_t nbytes)
{
    return nbytes > 1 && nbytes < TURN_BYTES && !shmemi_cuda_kernels_may_wait();
}

/* ---- Bytes ------------------------------------------------------------------------------------------------------- */

static inline CUresult copy_host_once(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes,
                                      CUstream stream)
{
    if (shmemi_place_is_cuda(dest) && shmemi_unlikely(would_await_turn(nbytes)))
        return write_without_turn(dest, source, nbytes, stream);
    if (shmemi_place_is_cuda(dest))
        return shmemi_cuda.cuMemcpyHtoDAsync(dest->address, (const void *)source->address, nbytes, stream);
    return shmemi_cuda.cuMemcpyDtoHAsync((void *)dest->address, source->address, nbytes, stream);
}

/* The driver refuses host memory that begins in a page-locked range and ends outside of it. */
static int copy_host(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes, CUstream stream)
{
    CUresult result = copy_host_once(dest, source, nbytes, stream);
    if (shmemi_likely(result == CUDA_SUCCESS))
        return 0;
    if (result == CUDA_ERROR_INVALID_VALUE)
        return shmemi_cuda_copy_mixed(dest, source, nbytes, stream);
    return shmemi_cuda_check(result, "cuMemcpyAsync(host memory)");
}

int shmemi_cuda_enqueue_bytes(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes,
                              CUstream stream)
{
    if (!shmemi_place_is_cuda(source) || !shmemi_place_is_cuda(dest))
        return copy_host(dest, source, nbytes, stream);
    if (dest->object && dest->object == source->object)
        return CUDA_CALL(cuMemcpyDtoDAsync, dest->address, source->address, nbytes, stream);
    if (shmemi_cuda_crosses_contexts(dest, source)) {
        CUcontext to = ((const struct shmemi_cuda_context *)dest->object)->context;
        CUcontext from = ((const struct shmemi_cuda_context *)source->object)->context;
        return CUDA_CALL(cuMemcpyPeerAsync, dest->address, to, source->address, from, nbytes, stream);
    }
    /* the context of one side is not known here; the driver finds it out */
    return CUDA_CALL(cuMemcpyAsync, dest->address, source->address, nbytes, stream);
}

/* ---- Rows and boxes ---------------------------------------------------------------------------------------------- */

/* Copy row by row, where the driver does not accept a rectangle: rows that overlap, or that lie 2 GiB apart (then there
 * are few of them). */
static int copy_rows(struct shmemi_place dest, struct shmemi_place source, const struct shmemi_shape *shape,
                     CUstream stream)
{
    int rc = 0;
    for (size_t row = 0; row < shape->rows && !rc; row++) {
        rc = shmemi_cuda_enqueue_bytes(&dest, &source, shape->width, stream);
        dest.address += shape->dest_pitch;
        source.address += shape->source_pitch;
    }
    return rc;
}

static CUmemorytype type_for_rect(const struct shmemi_place *place)
{
    if (!shmemi_place_is_cuda(place))
        return CU_MEMORYTYPE_HOST;
    return place->object ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED;
}

static int copy_rect(const struct shmemi_place *dest, const struct shmemi_place *source,
                     const struct shmemi_shape *shape, CUstream stream)
{
    CUDA_MEMCPY2D rect = {
        .srcMemoryType = type_for_rect(source),
        .srcHost = (const void *)source->address,
        .srcDevice = source->address,
        .srcPitch = shape->source_pitch,
        .dstMemoryType = type_for_rect(dest),
        .dstHost = (void *)dest->address,
        .dstDevice = dest->address,
        .dstPitch = shape->dest_pitch,
        .WidthInBytes = shape->width,
        .Height = shape->rows,
    };
    CUresult result = shmemi_cuda.cuMemcpy2DAsync(&rect, stream);
    if (result == CUDA_ERROR_INVALID_VALUE && (!shmemi_place_is_cuda(dest) || !shmemi_place_is_cuda(source)))
        return copy_rows(*dest, *source, shape, stream); /* host memory that is page-locked in part */
    return shmemi_cuda_check(result, "cuMemcpy2DAsync(&rect, stream)");
}

/* Rows of the whole box from one layer to the next, as the driver counts them. */
static size_t height_of(const struct shmemi_shape *shape, size_t pitch, size_t gap)
{
    return shape->layer ? shape->layer + gap / pitch : shape->rows;
}

static int copy_box(const struct shmemi_place *dest, const struct shmemi_place *source,
                    const struct shmemi_shape *shape, CUstream stream)
{
    CUDA_MEMCPY3D box = {
        .srcMemoryType = type_for_rect(source),
        .srcHost = (const void *)source->address,
        .srcDevice = source->address,
        .srcPitch = shape->source_pitch,
        .srcHeight = height_of(shape, shape->source_pitch, shape->source_gap),
        .dstMemoryType = type_for_rect(dest),
        .dstHost = (void *)dest->address,
        .dstDevice = dest->address,
        .dstPitch = shape->dest_pitch,
        .dstHeight = height_of(shape, shape->dest_pitch, shape->dest_gap),
        .WidthInBytes = shape->width,
        .Height = shape->layer,
        .Depth = shmemi_shape_layers(shape),
    };
    CUresult result = shmemi_cuda.cuMemcpy3DAsync(&box, stream);
    if (result == CUDA_ERROR_INVALID_VALUE && (!shmemi_place_is_cuda(dest) || !shmemi_place_is_cuda(source)))
        return -ENOTSUP; /* host memory that is page-locked in part */
    return shmemi_cuda_check(result, "cuMemcpy3DAsync(&box, stream)");
}

static int copy_rect_across(const struct shmemi_place *dest, const struct shmemi_place *source,
                            const struct shmemi_shape *shape, CUstream stream)
{
    CUDA_MEMCPY3D_PEER rect = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = source->address,
        .srcContext = ((const struct shmemi_cuda_context *)source->object)->context,
        .srcPitch = shape->source_pitch,
        .srcHeight = height_of(shape, shape->source_pitch, shape->source_gap),
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = dest->address,
        .dstContext = ((const struct shmemi_cuda_context *)dest->object)->context,
        .dstPitch = shape->dest_pitch,
        .dstHeight = height_of(shape, shape->dest_pitch, shape->dest_gap),
        .WidthInBytes = shape->width,
        .Height = shape->layer ? shape->layer : shape->rows,
        .Depth = shmemi_shape_layers(shape),
    };
    return CUDA_CALL(cuMemcpy3DPeerAsync, &rect, stream);
}

static inline bool is_rect(const struct shmemi_shape *shape)
{
    return shape->dest_pitch >= shape->width && shape->source_pitch >= shape->width && shape->dest_pitch <= PITCH_MAX &&
           shape->source_pitch <= PITCH_MAX;
}

/* Does the driver copy these layers at once? It counts from layer to layer in rows. */
static inline bool is_box(const struct shmemi_shape *shape)
{
    return is_rect(shape) && shape->dest_gap % shape->dest_pitch == 0 && shape->source_gap % shape->source_pitch == 0;
}

static int copy_layers(struct shmemi_place dest, struct shmemi_place source, const struct shmemi_shape *shape,
                       CUstream stream)
{
    const struct shmemi_shape layer = shmemi_shape_some(shape, 1);
    int rc = 0;
    for (size_t left = shmemi_shape_layers(shape); left && !rc; left--) {
        rc = shmemi_cuda_enqueue(&dest, &source, &layer, stream);
        dest.address += shmemi_shape_dest_layer(shape);
        source.address += shmemi_shape_source_layer(shape);
    }
    return rc;
}

/* All layers at once if the driver can, otherwise one by one. */
static int enqueue_layers(const struct shmemi_place *dest, const struct shmemi_place *source,
                          const struct shmemi_shape *shape, CUstream stream)
{
    int rc = -ENOTSUP;
    if (is_box(shape))
        rc = shmemi_cuda_crosses_contexts(dest, source) ? copy_rect_across(dest, source, shape, stream)
                                                        : copy_box(dest, source, shape, stream);
    return rc == -ENOTSUP ? copy_layers(*dest, *source, shape, stream) : rc;
}

bool shmemi_cuda_is_for_kernel(const struct shmemi_place *dest, const struct shmemi_place *source,
                               const struct shmemi_shape *shape)
{
    return shmemi_place_is_cuda(dest) && shmemi_place_is_cuda(source) &&
           (!is_rect(shape) || shmemi_cuda_rows_pay(shape));
}

int shmemi_cuda_enqueue(const struct shmemi_place *dest, const struct shmemi_place *source,
                        const struct shmemi_shape *shape, CUstream stream)
{
    if (shmemi_shape_is_dense(shape))
        return shmemi_cuda_enqueue_bytes(dest, source, shape->width * shape->rows, stream);
    if (shmemi_cuda_is_for_kernel(dest, source, shape)) {
        int rc = shmemi_cuda_rows_enqueue(dest, source, shape, stream);
        if (rc != -ENOTSUP)
            return rc;
    }
    if (shape->layer)
        return enqueue_layers(dest, source, shape, stream);
    if (!is_rect(shape))
        return copy_rows(*dest, *source, shape, stream);
    if (shmemi_cuda_crosses_contexts(dest, source))
        return copy_rect_across(dest, source, shape, stream);
    return copy_rect(dest, source, shape, stream);
}
