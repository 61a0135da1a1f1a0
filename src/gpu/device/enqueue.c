/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One copy of GPU memory, enqueued in a stream: chooses which of the driver's calls, or the kernel, carries it out.
 */
#include "base/likely.h"
#include "gpu/device/gpu_copies.h"

#include <limits.h>

enum { PITCH_MAX = INT_MAX }; /* of all devices */

/* ---- Short writes on a GPU that processes have in time slices ------------------------------------------------------
 * The driver writes up to some 24 KiB, from pageable memory a little more, by the processors of the GPU: the write waits
 * for the slice of its process. A rectangle, even if its rows leave no gaps, is always written by a copy engine. Measured
 * on an H200 with two processes that write alternately: 142 us, as two rows 9. Reads are the copy engines' anyway. */

enum { SHORT_WRITE = 64 << 10 };

static int write_two_rows(struct shmemi_place dest, struct shmemi_place source, size_t width, size_t offset,
                          void *stream)
{
    const struct shmemi_shape rows = {.width = width, .rows = 2, .dest_pitch = width, .source_pitch = width};
    dest.address += offset;
    source.address += offset;
    return shmemi_gpu.copy_shape(&dest, &source, &rows, stream);
}

/* Two rows of half the bytes; of an odd number, the last two once more. */
static int write_by_engine(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes,
                           void *stream)
{
    int result = write_two_rows(*dest, *source, nbytes / 2, 0, stream);
    return !result && nbytes % 2 ? write_two_rows(*dest, *source, 1, nbytes - 2, stream) : result;
}

static inline bool would_await_slice(size_t nbytes)
{
    return nbytes > 1 && nbytes < SHORT_WRITE && !shmemi_gpu_kernels_may_wait();
}

/* ---- Host memory ------------------------------------------------------------------------------------------------- */

static inline int copy_host_once(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes,
                                 void *stream)
{
    if (shmemi_place_is_gpu(dest) && shmemi_unlikely(would_await_slice(nbytes)))
        return write_by_engine(dest, source, nbytes, stream);
    if (shmemi_place_is_gpu(dest))
        return shmemi_gpu.copy_in(dest->address, (const void *)source->address, nbytes, stream);
    return shmemi_gpu.copy_out((void *)dest->address, source->address, nbytes, stream);
}

/* The driver refuses host memory that begins in a page-locked range and ends outside of it. */
static int copy_host(const struct shmemi_place *dest, const struct shmemi_place *source, size_t nbytes, void *stream)
{
    int result = copy_host_once(dest, source, nbytes, stream);
    if (shmemi_likely(!result))
        return 0;
    if (shmemi_gpu.errno_of(result) == -EINVAL)
        return shmemi_gpu_copy_mixed(dest, source, nbytes, stream);
    return shmemi_gpu_check(result, "copy_any(host memory)");
}

/* ---- Rows and boxes ---------------------------------------------------------------------------------------------- */

/* Copy row by row, where the driver does not accept a rectangle: rows that overlap, or that lie 2 GiB apart (then there
 * are few of them). */
static int copy_rows(struct shmemi_place dest, struct shmemi_place source, const struct shmemi_shape *shape,
                     void *stream)
{
    const struct shmemi_shape one = shmemi_shape_linear(shape->width);
    int rc = 0;
    for (size_t row = 0; row < shape->rows && !rc; row++) {
        rc = shmemi_gpu_enqueue(&dest, &source, &one, stream);
        dest.address += shape->dest_pitch;
        source.address += shape->source_pitch;
    }
    return rc;
}

/* By one call of the driver. -ENOTSUP when it refuses host memory that is page-locked in part. */
static int copy_shape(const struct shmemi_place *dest, const struct shmemi_place *source,
                      const struct shmemi_shape *shape, void *stream)
{
    const int result = shmemi_gpu.copy_shape(dest, source, shape, stream);
    if (result && shmemi_gpu.errno_of(result) == -EINVAL &&
        (!shmemi_place_is_gpu(dest) || !shmemi_place_is_gpu(source)))
        return -ENOTSUP;
    return shmemi_gpu_check(result, "copy_shape(dest, source, shape, stream)");
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
                       void *stream)
{
    const struct shmemi_shape layer = shmemi_shape_some(shape, 1);
    int rc = 0;
    for (size_t left = shmemi_shape_layers(shape); left && !rc; left--) {
        rc = shmemi_gpu_enqueue(&dest, &source, &layer, stream);
        dest.address += shmemi_shape_dest_layer(shape);
        source.address += shmemi_shape_source_layer(shape);
    }
    return rc;
}

/* All layers at once if the driver can, otherwise one by one. */
static int enqueue_layers(const struct shmemi_place *dest, const struct shmemi_place *source,
                          const struct shmemi_shape *shape, void *stream)
{
    int rc = -ENOTSUP;
    if (is_box(shape))
        rc = copy_shape(dest, source, shape, stream);
    return rc == -ENOTSUP ? copy_layers(*dest, *source, shape, stream) : rc;
}

bool shmemi_gpu_is_for_kernel(const struct shmemi_place *dest, const struct shmemi_place *source,
                              const struct shmemi_shape *shape)
{
    return shmemi_place_is_gpu(dest) && shmemi_place_is_gpu(source) && (!is_rect(shape) || shmemi_gpu_rows_pay(shape));
}

static int enqueue_rows(const struct shmemi_place *dest, const struct shmemi_place *source,
                        const struct shmemi_shape *shape, void *stream)
{
    int rc = -ENOTSUP;
    if (shmemi_gpu_is_for_kernel(dest, source, shape))
        rc = shmemi_gpu_rows_enqueue(dest, source, shape, stream);
    if (rc != -ENOTSUP)
        return rc;
    if (shape->layer)
        return enqueue_layers(dest, source, shape, stream);
    rc = is_rect(shape) ? copy_shape(dest, source, shape, stream) : -ENOTSUP;
    return rc == -ENOTSUP ? copy_rows(*dest, *source, shape, stream) : rc;
}

int shmemi_gpu_enqueue(const struct shmemi_place *dest, const struct shmemi_place *source,
                       const struct shmemi_shape *shape, void *stream)
{
    const size_t nbytes = shape->width * shape->rows;
    if (!shmemi_shape_is_dense(shape))
        return enqueue_rows(dest, source, shape, stream);
    if (!shmemi_place_is_gpu(source) || !shmemi_place_is_gpu(dest))
        return copy_host(dest, source, nbytes, stream);
    if (dest->object && dest->object == source->object)
        return GPU_CALL(copy_within, dest->address, source->address, nbytes, stream);
    if (shmemi_gpu_crosses_contexts(dest, source)) {
        void *to = ((const struct shmemi_gpu_context *)dest->object)->context;
        void *from = ((const struct shmemi_gpu_context *)source->object)->context;
        return GPU_CALL(copy_across, dest->address, to, source->address, from, nbytes, stream);
    }
    /* the context of one side is not known here; the driver finds it out */
    return GPU_CALL(copy_any, dest->address, source->address, nbytes, stream);
}
