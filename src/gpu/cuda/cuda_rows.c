/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of rows and of layers, as the driver wants them described.
 */
#include "gpu/cuda/cuda_calls.h"

static CUmemorytype type_of(const struct shmemi_place *place)
{
    if (!shmemi_place_is_gpu(place))
        return CU_MEMORYTYPE_HOST;
    return place->object ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_UNIFIED;
}

static CUcontext context_of(const struct shmemi_place *place)
{
    return ((const struct shmemi_gpu_context *)place->object)->context;
}

/* Rows of the whole box from one layer to the next. */
static size_t height_of(const struct shmemi_shape *shape, size_t pitch, size_t gap)
{
    return shape->layer ? shape->layer + gap / pitch : shape->rows;
}

static int copy_rows(const struct shmemi_place *dest, const struct shmemi_place *source,
                     const struct shmemi_shape *shape, void *stream)
{
    const CUDA_MEMCPY2D rect = {
        .srcMemoryType = type_of(source),
        .srcHost = (const void *)source->address,
        .srcDevice = source->address,
        .srcPitch = shape->source_pitch,
        .dstMemoryType = type_of(dest),
        .dstHost = (void *)dest->address,
        .dstDevice = dest->address,
        .dstPitch = shape->dest_pitch,
        .WidthInBytes = shape->width,
        .Height = shape->rows,
    };
    return (int)shmemi_cuda.cuMemcpy2DAsync(&rect, stream);
}

static int copy_layers(const struct shmemi_place *dest, const struct shmemi_place *source,
                       const struct shmemi_shape *shape, void *stream)
{
    const CUDA_MEMCPY3D box = {
        .srcMemoryType = type_of(source),
        .srcHost = (const void *)source->address,
        .srcDevice = source->address,
        .srcPitch = shape->source_pitch,
        .srcHeight = height_of(shape, shape->source_pitch, shape->source_gap),
        .dstMemoryType = type_of(dest),
        .dstHost = (void *)dest->address,
        .dstDevice = dest->address,
        .dstPitch = shape->dest_pitch,
        .dstHeight = height_of(shape, shape->dest_pitch, shape->dest_gap),
        .WidthInBytes = shape->width,
        .Height = shape->layer,
        .Depth = shmemi_shape_layers(shape),
    };
    return (int)shmemi_cuda.cuMemcpy3DAsync(&box, stream);
}

static int copy_across(const struct shmemi_place *dest, const struct shmemi_place *source,
                       const struct shmemi_shape *shape, void *stream)
{
    const CUDA_MEMCPY3D_PEER box = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = source->address,
        .srcContext = context_of(source),
        .srcPitch = shape->source_pitch,
        .srcHeight = height_of(shape, shape->source_pitch, shape->source_gap),
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = dest->address,
        .dstContext = context_of(dest),
        .dstPitch = shape->dest_pitch,
        .dstHeight = height_of(shape, shape->dest_pitch, shape->dest_gap),
        .WidthInBytes = shape->width,
        .Height = shape->layer ? shape->layer : shape->rows,
        .Depth = shmemi_shape_layers(shape),
    };
    return (int)shmemi_cuda.cuMemcpy3DPeerAsync(&box, stream);
}

int shmemi_cuda_copy_shape(const struct shmemi_place *dest, const struct shmemi_place *source,
                           const struct shmemi_shape *shape, void *stream)
{
    if (shmemi_gpu_crosses_contexts(dest, source))
        return copy_across(dest, source, shape, stream);
    return shape->layer ? copy_layers(dest, source, shape, stream) : copy_rows(dest, source, shape, stream);
}
