/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strided copies within CUDA memory, and to and from another device that this one reaches, against a model: narrow and
 * wide rows, few and many, close together and pages apart, all alignments. All of the destination is looked at, so that
 * a byte between the rows that changes is found. Each shape as the library copies it, and by the kernel whatever the
 * choice. Skipped (77) when there is no CUDA device, or no kernel for it. With "time" as its argument it prints what
 * the driver's 2-D copy and the kernel cost, on an idle device and on one that is busy with a kernel of the program.
 */
#include "cuda_user.h"
#include "gpu/device/gpu_context.h"
#include "gpu/device/gpu_copies.h"
#include "gpu/device/kernels/kernel_lists.h"

#include <errno.h>

enum { AREA = 18 << 20, SPARE_LISTS = 64 };

static char *source_bytes, *dest_bytes, *expected, *found; /* of AREA bytes */
static void *stream;                                       /* this thread's */
static CUstream ordinary_stream;                           /* one as programs make them */

/* ---- Ways -------------------------------------------------------------------------------------------------------- */

typedef int (*copy_func_t)(const struct shmemi_place *dest, const struct shmemi_place *source,
                           const struct shmemi_shape *shape);

static int copy(const struct shmemi_place *dest, const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    return memory->copy(dest, source, shape);
}

static int copy_with_event(const struct shmemi_place *dest, const struct shmemi_place *source,
                           const struct shmemi_shape *shape)
{
    struct shmemi_event event;
    int rc = memory->copy_start(dest, source, shape, &event);
    return rc ? rc : memory->event_wait(&event);
}

static int kernel_in_stream(const struct shmemi_place *dest, const struct shmemi_place *source,
                            const struct shmemi_shape *shape)
{
    int rc = shmemi_gpu_rows_enqueue(dest, source, shape, stream);
    USE(shmemi_cuda.cuStreamSynchronize(stream));
    return rc;
}

static int kernel_in_ordinary_stream(const struct shmemi_place *dest, const struct shmemi_place *source,
                                     const struct shmemi_shape *shape)
{
    int rc = shmemi_gpu_rows_enqueue(dest, source, shape, ordinary_stream);
    USE(shmemi_cuda.cuStreamSynchronize(ordinary_stream));
    return rc;
}

static int rectangle(const struct shmemi_place *dest, const struct shmemi_place *source,
                     const struct shmemi_shape *shape)
{
    CUDA_MEMCPY2D rect = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = source->address,
        .srcPitch = shape->source_pitch,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = dest->address,
        .dstPitch = shape->dest_pitch,
        .WidthInBytes = shape->width,
        .Height = shape->rows,
    };
    USE(shmemi_cuda.cuMemcpy2DAsync(&rect, stream));
    USE(shmemi_cuda.cuStreamSynchronize(stream));
    return 0;
}

static const struct way {
    const char *name;
    copy_func_t copy;
} ways[] = {
    {"copy", copy},
    {"copy with event", copy_with_event},
    {"kernel in a stream", kernel_in_stream},
    {"kernel", shmemi_gpu_rows_copy},
};

enum { N_WAYS = sizeof ways / sizeof ways[0] };

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */

struct pair {
    const char *name;
    struct shmemi_place dest, source;
};

struct layout {
    size_t dest_at, source_at; /* bytes */
    struct shmemi_shape shape;
};

static size_t end_of(size_t at, size_t pitch, const struct shmemi_shape *shape)
{
    return at + (shape->rows - 1) * pitch + shape->width;
}

/* The call may return before all has arrived, on another device even after some of it has been read there. */
static void fill_dest(const struct pair *pair, size_t end)
{
    enum { LOOKS = 1000 };
    int looks = 0;
    USE(cuda.cuMemcpyHtoD(pair->dest.address, dest_bytes, end));
    do
        USE(cuda.cuMemcpyDtoH(found, pair->dest.address, end));
    while (memcmp(found, dest_bytes, end) && ++looks < LOOKS);
    CHECK(looks < LOOKS);
}

static void check_way(const struct way *way, const struct pair *pair, const struct layout *layout)
{
    const struct shmemi_shape *shape = &layout->shape;
    struct shmemi_place dest = pair->dest, source = pair->source;
    const size_t end = end_of(layout->dest_at, shape->dest_pitch, shape) + 64;
    size_t i = 0;
    dest.address += layout->dest_at;
    source.address += layout->source_at;
    fill_dest(pair, end);
    int rc = way->copy(&dest, &source, shape);
    USE(cuda.cuMemcpyDtoH(found, pair->dest.address, end));
    while (i < end && found[i] == expected[i])
        i++;
    if (rc || i < end)
        fprintf(stderr, "%s, %s, %zu rows of %zu bytes, pitches %zu %zu, at %zu %zu: rc %d, byte %zu is wrong\n",
                pair->name, way->name, shape->rows, shape->width, shape->dest_pitch, shape->source_pitch,
                layout->dest_at, layout->source_at, rc, i);
    CHECK(!rc && i == end);
}

static void make_expected(const struct layout *layout)
{
    const struct shmemi_shape *shape = &layout->shape;
    const size_t end = end_of(layout->dest_at, shape->dest_pitch, shape) + 64;
    CHECK(end <= AREA && end_of(layout->source_at, shape->source_pitch, shape) <= AREA);
    memcpy(expected, dest_bytes, end);
    for (size_t row = 0; row < shape->rows; row++)
        memcpy(expected + layout->dest_at + row * shape->dest_pitch,
               source_bytes + layout->source_at + row * shape->source_pitch, shape->width);
}

static void check_layout(const struct pair *pair, const struct layout *layout)
{
    make_expected(layout);
    for (int i = 0; i < N_WAYS; i++)
        check_way(&ways[i], pair, layout);
}

/* Dense on one side, odd, sparse, and aligned to 16 bytes. */
static void check_width(const struct pair *pair, size_t width, size_t rows)
{
    const size_t up = 16 - width % 16;
    const struct layout layouts[] = {
        {0, 0, {.width = width, .rows = rows, .dest_pitch = width, .source_pitch = width + 7}},
        {3, 0, {.width = width, .rows = rows, .dest_pitch = width + 5, .source_pitch = width}},
        {1, 2, {.width = width, .rows = rows, .dest_pitch = width + 1, .source_pitch = width + 3}},
        {8, 16, {.width = width, .rows = rows, .dest_pitch = 2 * width, .source_pitch = 5 * width}},
        {16, 32, {.width = width, .rows = rows, .dest_pitch = width + up, .source_pitch = width + up + 16}},
    };
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++)
        check_layout(pair, &layouts[i]);
}

static void check_widths(const struct pair *pair)
{
    static const size_t widths[] = {1, 2, 3, 4, 5, 6, 8, 12, 15, 16, 17, 24, 32, 33, 48, 63, 64, 65, 200};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        check_width(pair, widths[i], 2);
        check_width(pair, widths[i], 130);
        check_width(pair, widths[i], 2500);
    }
    check_width(pair, 4, 300000); /* more than threads in a launch */
}

/* Rows in more pages than suits the copy engines. */
static void check_far_apart(const struct pair *pair)
{
    const struct layout few = {8, 24, {.width = 8, .rows = 17, .dest_pitch = 1 << 20, .source_pitch = 1 << 20}},
                        odd = {7, 5, {.width = 3, .rows = 600, .dest_pitch = 29989, .source_pitch = 29501}};
    check_layout(pair, &few);
    check_layout(pair, &odd);
}

/* Source rows that overlap, which the driver's own copy refuses: every unit of the kernel. */
static void check_overlapping_source(const struct pair *pair)
{
    for (size_t unit = 1; unit <= 32; unit *= 2)
        check_layout(
            pair, &(struct layout){
                      unit, 2 * unit, {.width = 3 * unit, .rows = 40, .dest_pitch = 5 * unit, .source_pitch = unit}});
}

/* ---- What the kernel leaves to the driver ------------------------------------------------------------------------ */

static void check_refusals(const struct pair *pair)
{
    const struct shmemi_shape apart = {.width = 4, .rows = 3000, .dest_pitch = 8, .source_pitch = 8},
                              overlapping = {.width = 4, .rows = 3000, .dest_pitch = 3, .source_pitch = 8};
    struct shmemi_place unknown = pair->source, host = shmemi_place_host(found);
    unknown.object = NULL;
    CHECK(shmemi_gpu_rows_copy(&pair->dest, &unknown, &apart) == -ENOTSUP);
    CHECK(shmemi_gpu_rows_copy(&unknown, &pair->source, &apart) == -ENOTSUP);
    CHECK(shmemi_gpu_rows_copy(&host, &pair->source, &apart) == -ENOTSUP);
    CHECK(shmemi_gpu_rows_copy(&pair->dest, &pair->source, &overlapping) == -ENOTSUP);
    CHECK(shmemi_gpu_rows_enqueue(&pair->dest, &pair->source, &overlapping, stream) == -ENOTSUP);
    const struct shmemi_shape one_row = shmemi_shape_linear(64); /* as copies in graphs are */
    CHECK(!shmemi_gpu_rows_enqueue(&pair->dest, &pair->source, &one_row, stream));
    USE(shmemi_cuda.cuStreamSynchronize(stream)); /* otherwise it may write into what the next check compares */
}

/* When all lists are in use, only its stream shows the end of a kernel. */
static void check_without_lists(const struct pair *pair)
{
    const struct layout layout = {4, 8, {.width = 4, .rows = 5000, .dest_pitch = 12, .source_pitch = 20}};
    struct shmemi_list *taken[SPARE_LISTS];
    int n = 0;
    while (n < SPARE_LISTS && (taken[n] = shmemi_kernel_list_take(&pair->dest)))
        n++;
    CHECK(n > 0 && n < SPARE_LISTS);
    CHECK(shmemi_gpu_rows_copy(&pair->dest, &pair->source, &layout.shape) == -ENOTSUP);
    make_expected(&layout);
    check_way(&ways[0], pair, &layout);
    while (n > 0)
        shmemi_kernel_list_give(taken[--n]);
}

/* ---- Times ------------------------------------------------------------------------------------------------------- */

/* A program's kernels: many more blocks than the device takes at once, for about a millisecond. */
struct work {
    CUstream stream; /* NULL: the device is idle */
    struct pair pair;
};

static void start_work(const struct work *work)
{
    enum { BLOCKS = 1 << 17, BLOCK_THREADS = 128, UNIT = 16, LAUNCHES = 6 };
    struct shmemi_row_copy copy_all = {.dest = work->pair.dest.address,
                                       .source = work->pair.source.address,
                                       .width = 64,
                                       .rows = (size_t)BLOCKS * BLOCK_THREADS * UNIT / 64,
                                       .dest_pitch = 64,
                                       .source_pitch = 64,
                                       .unit = UNIT};
    void *arguments[] = {&copy_all};
    for (int i = 0; i < LAUNCHES; i++)
        CHECK(!shmemi_gpu_launch(work->pair.dest.object, SHMEMI_KERNEL_copy_rows, BLOCKS, BLOCK_THREADS, work->stream,
                                 arguments));
}

static struct work work;

/* The median time of several runs, in microseconds. */
static double time_of(copy_func_t copy_rows, const struct pair *pair, const struct shmemi_shape *shape)
{
    enum { RUNS = 31 };
    double took[RUNS];
    for (int i = 0; i < RUNS; i++) {
        if (work.stream)
            start_work(&work);
        double start = now_us(), t;
        CHECK(!copy_rows(&pair->dest, &pair->source, shape));
        t = now_us() - start;
        if (work.stream)
            USE(shmemi_cuda.cuStreamSynchronize(work.stream));
        int at = i;
        for (; at > 0 && took[at - 1] > t; at--)
            took[at] = took[at - 1];
        took[at] = t;
    }
    return took[RUNS / 2];
}

static void print_times(const struct pair *pair, size_t most)
{
    static const size_t widths[] = {8, 64, 256, 1024}, pitches[] = {0, 4 << 10, 32 << 10, 1 << 20},
                        rows[] = {16, 64, 256, 512, 1024, 2048, 4096, 16384, 65536, 1 << 20};
    printf("# %s, us: 2-D copy, kernel in a stream, kernel, as the library chooses\n", pair->name);
    for (int w = 0; w < 4; w++)
        for (int p = 0; p < 4; p++)
            for (int r = 0; r < 10; r++) {
                size_t pitch = pitches[p] ? pitches[p] : 2 * widths[w];
                struct shmemi_shape shape = {
                    .width = widths[w], .rows = rows[r], .dest_pitch = pitch, .source_pitch = pitch};
                if (pitch * rows[r] > most)
                    continue;
                printf("# %zu rows of %zu bytes, pitch %zu: %.1f %.1f %.1f %.1f\n", rows[r], widths[w], pitch,
                       time_of(rectangle, pair, &shape), time_of(kernel_in_stream, pair, &shape),
                       time_of(shmemi_gpu_rows_copy, pair, &shape), time_of(copy, pair, &shape));
            }
}

static void print_busy_times(const struct pair *pair)
{
    static const size_t rows[] = {64, 512, 1024, 4096, 16384};
    printf("# %s, busy, us: 2-D copy, kernel in a stream of the program, kernel\n", pair->name);
    for (int r = 0; r < 5; r++) {
        struct shmemi_shape shape = {.width = 8, .rows = rows[r], .dest_pitch = 32 << 10, .source_pitch = 32 << 10};
        printf("# %zu rows of 8 bytes, pitch %zu: %.1f %.1f %.1f\n", rows[r], shape.dest_pitch,
               time_of(rectangle, pair, &shape), time_of(kernel_in_ordinary_stream, pair, &shape),
               time_of(shmemi_gpu_rows_copy, pair, &shape));
    }
}

/* Dense rows of page-locked host memory: the kernel against the library's copy. */
static void print_host_times(const struct shmemi_place *device)
{
    static const size_t rows[] = {64, 1024, 4096, 65536};
    void *locked = NULL;
    USE(user.cuMemAllocHost(&locked, (size_t)8 << 16));
    const struct shmemi_place host = shmemi_place_host(locked), mapped = {memory, device->object, (uintptr_t)locked};
    const struct pair in = {"", *device, host}, in_mapped = {"", *device, mapped};
    const struct pair out = {"", host, *device}, out_mapped = {"", mapped, *device};
    printf("# page-locked host memory, dense there, us: to the device as the library copies and by the kernel, from it "
           "by both\n");
    for (int r = 0; r < 4; r++) {
        struct shmemi_shape to = {.width = 8, .rows = rows[r], .dest_pitch = 64, .source_pitch = 8},
                            from = {.width = 8, .rows = rows[r], .dest_pitch = 8, .source_pitch = 64};
        printf("# %zu rows of 8 bytes: %.1f %.1f %.1f %.1f\n", rows[r], time_of(copy, &in, &to),
               time_of(shmemi_gpu_rows_copy, &in_mapped, &to), time_of(copy, &out, &from),
               time_of(shmemi_gpu_rows_copy, &out_mapped, &from));
    }
    USE(user.cuMemFreeHost(locked));
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static void check_pair(struct pair pair)
{
    USE(cuda.cuMemcpyHtoD(pair.source.address, source_bytes, AREA));
    check_widths(&pair);
    check_far_apart(&pair);
    check_overlapping_source(&pair);
    check_refusals(&pair);
    check_without_lists(&pair);
    USE(cuda.cuMemcpyDtoH(found, pair.source.address, AREA));
    CHECK(!memcmp(found, source_bytes, AREA));
}

static void check_all(struct shmemi_place here, struct shmemi_place there, struct shmemi_place peer)
{
    check_pair((struct pair){"one device", there, here});
    if (!peer.address)
        return;
    check_pair((struct pair){"to another device", peer, here});
    check_pair((struct pair){"from another device", here, peer});
}

static void print_all(struct shmemi_place here, struct shmemi_place there, struct shmemi_place peer, size_t most)
{
    const struct pair pairs[] = {
        {"one device", there, here}, {"to another device", peer, here}, {"from another device", here, peer}};
    const int n_pairs = peer.address ? 3 : 1;
    for (int i = 0; i < n_pairs; i++)
        print_times(&pairs[i], most);
    print_host_times(&here);
    work.pair = pairs[0];
    USE(shmemi_cuda.cuStreamCreate(&work.stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < n_pairs; i++)
        print_busy_times(&pairs[i]);
}

static void make_bytes(void)
{
    char **all[] = {&source_bytes, &dest_bytes, &expected, &found};
    for (unsigned i = 0; i < 4; i++) {
        *all[i] = malloc(AREA);
        if (!*all[i])
            abort();
        fill(*all[i], AREA, i);
    }
}

static void free_bytes(void)
{
    free(source_bytes), free(dest_bytes), free(expected), free(found);
}

int main(int argc, char **argv)
{
    const bool times = argc > 1 && !strcmp(argv[1], "time");
    const size_t size = times ? (size_t)2 << 30 : AREA;
    struct shmemi_allocation allocation;
    CUcontext primary;
    char reason[160];
    if (memory->open() || memory->device_count() == 0) {
        printf("# no CUDA device: skipped\n");
        return SKIP;
    }
    load_user_functions();
    USE(shmemi_cuda.cuDevicePrimaryCtxRetain(&primary, 0));
    USE(cuda.cuCtxSetCurrent(primary));
    CUdeviceptr address = user_alloc(size);
    CHECK(!open_object(address, size, &allocation, reason));
    struct shmemi_place here = allocation.place, there = {memory, here.object, user_alloc(size)},
                        peer = {memory, here.object, allocate_on_peer(primary, size)};
    if (!shmemi_gpu_has_kernels(here.object)) {
        printf("# no kernels for this CUDA device: skipped\n");
        return SKIP;
    }
    CHECK(!shmemi_gpu_stream(here.object, &stream));
    USE(shmemi_cuda.cuStreamCreate(&ordinary_stream, CU_STREAM_NON_BLOCKING));
    make_bytes();
    check_all(here, there, peer);
    if (times)
        print_all(here, there, peer, size);
    free_bytes();
    memory->close();
    printf("# %d failures\n", n_failures);
    return n_failures ? 1 : 0;
}
