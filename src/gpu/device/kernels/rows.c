/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strided copies within one context, including a peer's memory that it reaches, by a kernel that loads and stores the
 * elements. The copy engines, which carry out the driver's 2-D copy, take as long for a short row as for a longer one.
 * In the memory of another process they cut what is spread over many pages into pieces of 7 us each: on an H200, rows
 * that lie 32 KiB apart take 8 us for 512 rows, 15 us for 1024, 36 us for 4096 and 122 us for 16384. A kernel takes 10
 * to 12 us for all of these. So it is quicker from a second piece on, or where there are very many rows. Over NVLink it
 * is slower when rows are long.
 *
 * A caller that waits polls for the last store of the kernel, which arrives before the driver reports that the stream
 * is done.
 */
#include "gpu/device/gpu_copies.h"
#include "gpu/device/kernels/kernel_lists.h"
#include "gpu/device/timing.h"
#include "gpu/list.h"

#include "base/tuning.h"

#include <errno.h>

enum { THREADS = 128, BLOCKS_MAX = 2048, UNIT_MAX = 16 };
enum { PAGE = 2 << 20 };

static bool are_in_many_pages(size_t rows, size_t pitch)
{
    return rows > SHMEMI_GPU_ROWS_BY_ENGINE && pitch > (size_t)SHMEMI_GPU_PAGES_BY_ENGINE * PAGE / rows;
}

/* Bytes from row to row, on average. */
static size_t mean_pitch(const struct shmemi_shape *shape, size_t pitch, size_t gap)
{
    return shape->layer ? pitch + gap / shape->layer : pitch;
}

bool shmemi_gpu_rows_pay(const struct shmemi_shape *shape)
{
    return shape->width <= SHMEMI_GPU_ROW_WIDTH &&
           (shape->rows >= SHMEMI_GPU_ROWS_BY_KERNEL ||
            are_in_many_pages(shape->rows, mean_pitch(shape, shape->dest_pitch, shape->dest_gap)) ||
            are_in_many_pages(shape->rows, mean_pitch(shape, shape->source_pitch, shape->source_gap)));
}

static int describe(const struct shmemi_place *dest, const struct shmemi_place *source,
                    const struct shmemi_shape *shape, struct shmemi_row_copy *copy_p)
{
    struct shmemi_row_copy copy = {
        .dest = dest->address,
        .source = source->address,
        .width = shape->width,
        .rows = shape->rows,
        .dest_pitch = shape->dest_pitch,
        .source_pitch = shape->source_pitch,
        .layer = shape->layer,
        .dest_gap = shape->dest_gap,
        .source_gap = shape->source_gap,
        .unit = UNIT_MAX,
    };
    const bool overlaps = shape->rows > 1 && shape->dest_pitch < shape->width;
    if (!dest->object || dest->object != source->object || overlaps)
        return -ENOTSUP;
    while (
        (copy.dest | copy.source | copy.width | copy.dest_pitch | copy.source_pitch | copy.dest_gap | copy.source_gap) %
        copy.unit)
        copy.unit /= 2;
    *copy_p = copy;
    return 0;
}

static int launch(struct shmemi_gpu_context *context, struct shmemi_row_copy *copy, void *stream)
{
    void *arguments[] = {copy};
    size_t n = copy->width / copy->unit * copy->rows, blocks = (n + THREADS - 1) / THREADS;
    return shmemi_gpu_launch(context, SHMEMI_KERNEL_copy_rows, blocks < BLOCKS_MAX ? (unsigned)blocks : BLOCKS_MAX,
                             THREADS, stream, arguments);
}

int shmemi_gpu_rows_enqueue(const struct shmemi_place *dest, const struct shmemi_place *source,
                            const struct shmemi_shape *shape, void *stream)
{
    struct shmemi_row_copy copy;
    int rc = describe(dest, source, shape, &copy);
    return rc ? rc : launch(dest->object, &copy, stream);
}

static int launch_timed(struct shmemi_gpu_context *context, struct shmemi_row_copy *copy)
{
    void *stream;
    int rc = shmemi_gpu_stream(context, &stream);
    if (rc)
        return rc;
    struct shmemi_gpu_timing *timing = shmemi_gpu_time(context, stream);
    rc = launch(context, copy, stream);
    shmemi_gpu_timing_end(timing, rc, "device to device", copy->width * copy->rows);
    return rc;
}

int shmemi_gpu_rows_copy(const struct shmemi_place *dest, const struct shmemi_place *source,
                         const struct shmemi_shape *shape)
{
    struct shmemi_row_copy copy;
    int rc = describe(dest, source, shape, &copy);
    struct shmemi_list *list = rc ? NULL : shmemi_kernel_list_take(dest);
    if (!list)
        return -ENOTSUP;
    copy.end = shmemi_kernel_list_lend(list);
    rc = launch_timed(dest->object, &copy);
    if (!rc)
        rc = shmemi_kernel_list_wait(list);
    shmemi_kernel_list_give(list);
    return rc;
}
