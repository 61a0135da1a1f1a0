/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device kernels that combine arrays and copy rows, against what the CPU does with the same bytes: every kind of
 * number and operation, all forms, in place, arrays that lie alike in memory and arrays that do not. Skipped (77) when
 * there is no CUDA device, or no kernel for it. With "time" as its argument it prints what they cost.
 */
#include "cuda_user.h"
#include "shmem/coll_op.h"

#include <errno.h>
#include <time.h>

enum { ARRAYS = 4, MOST = 5000, AREA = MOST * 16 + 64 };

static struct shmemi_place array[ARRAYS + 1]; /* of AREA bytes; the last for a dest of its own */
static _Alignas(16) char model[ARRAYS + 1][AREA], found[AREA];

/* Values of which neither sums nor products leave the range of the type. */
static void fill_numbers(char *into, enum shmemi_kind kind, unsigned seed)
{
    fill(into, AREA, seed);
    for (size_t i = 0; i < AREA / sizeof(float) && (kind == SHMEMI_KIND_F32 || kind == SHMEMI_KIND_C32); i++)
        ((float *)into)[i] = (float)(1 + (int)((i * 7919 + seed * 31) % 1000)) / 512 - 1;
    for (size_t i = 0; i < AREA / sizeof(double) && (kind == SHMEMI_KIND_F64 || kind == SHMEMI_KIND_C64); i++)
        ((double *)into)[i] = (double)(1 + (int)((i * 7919 + seed * 31) % 1000)) / 500 - 1;
}

static void load_arrays(enum shmemi_kind kind, unsigned seed)
{
    for (int i = 0; i <= ARRAYS; i++) {
        fill_numbers(model[i], kind, seed + (unsigned)i);
        USE(user.cuMemcpyHtoD(array[i].address, model[i], AREA));
    }
}

static bool arrays_are_right(void)
{
    bool right = true;
    for (int i = 0; i <= ARRAYS; i++) {
        USE(user.cuMemcpyDtoH(found, array[i].address, AREA));
        right = right && !memcmp(found, model[i], AREA);
    }
    return right;
}

/* Offsets of the arrays, in elements or, for the alignment of the parts of complex numbers, bytes. */
struct layout {
    size_t at[ARRAYS + 1];
};

static void combine_models(const struct shmemi_op *op, enum shmemi_combine_form form, const struct layout *layout,
                           int first_dest, size_t nbytes)
{
    static _Alignas(16) char before[AREA], sum[AREA];
    memset(before, 0, sizeof before);
    memcpy(sum, model[0] + layout->at[0], nbytes);
    for (int i = 0; i < ARRAYS; i++) {
        if (i > 0) {
            memcpy(before, sum, nbytes);
            shmemi_combine(op, sum, sum, model[i] + layout->at[i], nbytes);
        }
        if (form != SHMEMI_COMBINE_ALL)
            memcpy(model[i] + layout->at[i], form == SHMEMI_COMBINE_INCLUSIVE ? sum : before, nbytes);
    }
    for (int i = first_dest; i <= ARRAYS && form == SHMEMI_COMBINE_ALL; i++)
        memcpy(model[i] + layout->at[i], sum, nbytes);
}

/* Sources: all but the last array; dests: prefixes in place, else from first_dest to the last. */
static int combine(const struct shmemi_op *op, enum shmemi_combine_form form, const struct layout *layout,
                   int first_dest, size_t nelems, bool with_event)
{
    struct shmemi_place source[ARRAYS], dest[ARRAYS + 1];
    struct shmemi_event event;
    int n_dests = form == SHMEMI_COMBINE_ALL ? ARRAYS + 1 - first_dest : ARRAYS;
    for (int i = 0; i < ARRAYS; i++) {
        source[i] = array[i];
        source[i].address += layout->at[i];
    }
    for (int i = 0; i < n_dests; i++) {
        int which = form == SHMEMI_COMBINE_ALL ? first_dest + i : i;
        dest[i] = array[which];
        dest[i].address += layout->at[which];
    }
    struct shmemi_combination combination = {shmemi_operation_of(op), shmemi_kind_of(op), form, op->size, nelems,
                                             source, dest, ARRAYS, n_dests};
    int rc = memory->combine(&combination, with_event ? &event : NULL);
    return rc || !with_event ? rc : memory->event_wait(&event);
}

static void check_case(const struct shmemi_op *op, enum shmemi_combine_form form, const struct layout *layout,
                       int first_dest, size_t nelems)
{
    load_arrays(shmemi_kind_of(op), (unsigned)(nelems + layout->at[1]));
    int rc = combine(op, form, layout, first_dest, nelems, nelems % 2);
    combine_models(op, form, layout, first_dest, nelems * op->size);
    bool right = arrays_are_right();
    if (rc || !right)
        fprintf(stderr, "kind %d, operation %d, form %d, %zu elements at %zu, %zu: rc %d\n", shmemi_kind_of(op),
                shmemi_operation_of(op), form, nelems, layout->at[0], layout->at[1], rc);
    CHECK(!rc && right);
}

static void check_op(const struct shmemi_op *op)
{
    const size_t size = op->size;
    const struct layout whole = {{0}}, alike = {{size, size, size, size, size}},
                        different = {{0, size, 2 * size, 3 * size, 0}};
    static const size_t lengths[] = {1, 7, 100, MOST - 7};
    for (int i = 0; i < 4; i++) {
        check_case(op, SHMEMI_COMBINE_ALL, &alike, 0, lengths[i]);
        check_case(op, SHMEMI_COMBINE_ALL, &different, ARRAYS, lengths[i]);
    }
    check_case(op, SHMEMI_COMBINE_ALL, &whole, 1, MOST);
    if (shmemi_operation_of(op) != SHMEMI_OP_sum)
        return;
    for (int form = SHMEMI_COMBINE_INCLUSIVE; form <= SHMEMI_COMBINE_EXCLUSIVE; form++) {
        check_case(op, (enum shmemi_combine_form)form, &alike, 0, 1234);
        check_case(op, (enum shmemi_combine_form)form, &different, 0, 77);
    }
}

static void check_ops(void)
{
    for (int op = 0; op < SHMEMI_OPS; op++)
        for (int kind = 0; kind < SHMEMI_KINDS; kind++)
            if (shmemi_ops[op][kind].combine && kind != SHMEMI_KIND_F80)
                check_op(&shmemi_ops[op][kind]);
}

/* Complex numbers need the alignment of their parts only; what has less is left to the CPU, as is host memory. */
static void check_refusals(void)
{
    const struct shmemi_op *complex_sum = &shmemi_ops[SHMEMI_OP_sum][SHMEMI_KIND_C64];
    const struct layout halves = {{8, 8, 8, 8, 8}}, odd = {{0, 1, 0, 0, 0}}, whole = {{0}};
    check_case(complex_sum, SHMEMI_COMBINE_ALL, &halves, 0, 99);
    load_arrays(SHMEMI_KIND_U8, 1);
    CHECK(combine(&shmemi_ops[SHMEMI_OP_sum][SHMEMI_KIND_I32], SHMEMI_COMBINE_ALL, &odd, 0, 9, false) == -ENOTSUP);
    CHECK(combine(&shmemi_ops[SHMEMI_OP_sum][SHMEMI_KIND_F80], SHMEMI_COMBINE_ALL, &whole, 0, 9, false) == -ENOTSUP);
    CHECK(combine(complex_sum, SHMEMI_COMBINE_ALL, &whole, 0, 0, false) == 0);
    struct shmemi_place kept = array[1];
    array[1] = shmemi_place_host(found);
    CHECK(combine(complex_sum, SHMEMI_COMBINE_ALL, &whole, 0, 9, false) == -ENOTSUP);
    array[1] = kept;
    CHECK(arrays_are_right());
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

/* Source rows that overlap, which the driver's own copy refuses: every unit of the kernel. */
static void check_rows(void)
{
    for (size_t unit = 1; unit <= 32; unit *= 2) {
        struct shmemi_shape shape = {3 * unit, 40, 5 * unit, unit};
        struct shmemi_place dest = array[1], source = array[0];
        load_arrays(SHMEMI_KIND_U8, (unsigned)unit);
        dest.address += unit;
        source.address += 2 * unit;
        CHECK(!memory->copy(&dest, &source, &shape));
        for (size_t row = 0; row < shape.rows; row++)
            memcpy(model[1] + unit + row * shape.dest_pitch, model[0] + 2 * unit + row * shape.source_pitch,
                   shape.width);
        CHECK(arrays_are_right());
    }
}

/* More rows than are left to the copy engines. */
static void check_many_rows(void)
{
    for (size_t width = 1; width <= 4; width++) {
        struct shmemi_shape shape = {width, 9000, 8, 5};
        load_arrays(SHMEMI_KIND_U8, (unsigned)width);
        CHECK(!memory->copy(&array[1], &array[0], &shape));
        for (size_t row = 0; row < shape.rows; row++)
            memcpy(model[1] + row * shape.dest_pitch, model[0] + row * shape.source_pitch, shape.width);
        CHECK(arrays_are_right());
    }
}

/* ---- Times ------------------------------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Microseconds of the best of some runs. */
static double time_combine(const struct shmemi_combination *combination)
{
    double best = 1e30;
    for (int i = 0; i < 30; i++) {
        double start = now();
        CHECK(!memory->combine(combination, NULL));
        double took = now() - start;
        best = took < best ? took : best;
    }
    return best;
}

static void print_sum_times(const struct shmemi_place *place, const char *where)
{
    for (size_t nbytes = 8; nbytes <= (size_t)64 << 20; nbytes *= 8) {
        struct shmemi_combination sum = {SHMEMI_OP_sum, SHMEMI_KIND_F64, SHMEMI_COMBINE_ALL, 8, nbytes / 8,
                                         place,         place,           2,                  2};
        printf("# %s, sum of 2 arrays of %zu bytes to both: %.1f us\n", where, nbytes, time_combine(&sum));
    }
}

/* The kernel, by a launch of our own. */
static double time_rows_kernel(const struct shmemi_place *dest, const struct shmemi_place *source,
                               struct shmemi_shape shape)
{
    struct shmemi_cuda_context *context = dest->object;
    struct shmemi_row_copy copy = {dest->address, source->address, shape.width, shape.rows, shape.dest_pitch,
                                   shape.source_pitch, shape.width < 16 ? (uint32_t)shape.width : 16};
    void *arguments[] = {&copy};
    CUfunction function;
    CUstream stream;
    double best = 1e30;
    size_t blocks = (shape.width / copy.unit * shape.rows + 255) / 256;
    CHECK(!shmemi_cuda_kernel(context, SHMEMI_KERNEL_copy_rows, &function) && !shmemi_cuda_stream(context, &stream));
    for (int i = 0; i < 30; i++) {
        double start = now();
        CHECK(!shmemi_cuda_launch(function, blocks < 1024 ? (unsigned)blocks : 1024, 256, stream, arguments));
        USE(shmemi_cuda.cuStreamSynchronize(stream));
        double took = now() - start;
        best = took < best ? took : best;
    }
    return best;
}

/* As the library copies. */
static double time_copy(const struct shmemi_place *dest, const struct shmemi_place *source, struct shmemi_shape shape)
{
    double best = 1e30;
    for (int i = 0; i < 30; i++) {
        double start = now();
        CHECK(!memory->copy(dest, source, &shape));
        double took = now() - start;
        best = took < best ? took : best;
    }
    return best;
}

/* Through the driver, as a rectangle. */
static double time_rect(const struct shmemi_place *dest, const struct shmemi_place *source, struct shmemi_shape shape)
{
    CUDA_MEMCPY2D rect = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = source->address, .srcPitch = shape.source_pitch,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = dest->address, .dstPitch = shape.dest_pitch,
        .WidthInBytes = shape.width, .Height = shape.rows,
    };
    CUstream stream;
    double best = 1e30;
    CHECK(!shmemi_cuda_stream(dest->object, &stream));
    for (int i = 0; i < 30; i++) {
        double start = now();
        USE(shmemi_cuda.cuMemcpy2DAsync(&rect, stream));
        USE(shmemi_cuda.cuStreamSynchronize(stream));
        double took = now() - start;
        best = took < best ? took : best;
    }
    return best;
}

static void print_row_times(const struct shmemi_place *dest, const struct shmemi_place *source, const char *where)
{
    static const size_t widths[] = {8, 64, 1024}, rows[] = {64, 1024, 4096, 8192, 16384, 65536, 1 << 20};
    for (int w = 0; w < 3; w++)
        for (int r = 0; r < 7; r++) {
            struct shmemi_shape shape = {widths[w], rows[r], 2 * widths[w], 2 * widths[w]};
            printf("# %s, %zu rows of %zu bytes: 2-D copy %.1f us, kernel %.1f us\n", where, rows[r], widths[w],
                   time_rect(dest, source, shape), time_rows_kernel(dest, source, shape));
        }
}

/* Dense rows of page-locked host memory: the kernel against the library's copy. */
static void print_host_row_times(const struct shmemi_place *device)
{
    static const size_t rows[] = {64, 1024, 4096, 65536};
    void *locked = NULL;
    USE(user.cuMemAllocHost(&locked, (size_t)8 << 16));
    struct shmemi_place host = shmemi_place_host(locked), mapped = {memory, device->object, (uintptr_t)locked};
    for (int r = 0; r < 4; r++) {
        struct shmemi_shape in = {8, rows[r], 64, 8}, out = {8, rows[r], 8, 64};
        printf("# host, %zu rows of 8 bytes, dense there: to the device: copy %.1f us, kernel %.1f us; from it: copy "
               "%.1f us, kernel %.1f us\n",
               rows[r], time_copy(device, &host, in), time_rows_kernel(device, &mapped, in),
               time_copy(&host, device, out), time_rows_kernel(&mapped, device, out));
    }
    USE(user.cuMemFreeHost(locked));
}

/* Memory of another device that this context reaches; 0 when there is none. */
static CUdeviceptr allocate_on_peer(CUcontext mine, size_t size)
{
    CUresult (*enable)(CUcontext, unsigned);
    CUcontext theirs;
    CUdeviceptr pointer = 0;
    *(void **)&enable = dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuCtxEnablePeerAccess");
    if (memory->device_count() < 2 || shmemi_cuda.cuDevicePrimaryCtxRetain(&theirs, 1) != CUDA_SUCCESS)
        return 0;
    USE(user.cuCtxSetCurrent(theirs));
    USE(user.cuMemAlloc(&pointer, size));
    USE(user.cuCtxSetCurrent(mine));
    return enable && enable(theirs, 0) == CUDA_SUCCESS ? pointer : 0;
}

static void print_times(CUcontext context)
{
    const size_t most = (size_t)2 << 30;
    struct shmemi_place here[2] = {{memory, array[0].object, device_alloc(most)},
                                   {memory, array[0].object, device_alloc(most)}};
    struct shmemi_place pair[2] = {here[0], {memory, array[0].object, allocate_on_peer(context, most)}};
    print_sum_times(here, "one device");
    print_row_times(&here[1], &here[0], "one device");
    print_host_row_times(&here[0]);
    if (!pair[1].address)
        return;
    print_sum_times(pair, "two devices");
    print_row_times(&pair[1], &pair[0], "to another device");
}

static void make_arrays(void)
{
    for (int i = 0; i <= ARRAYS; i++) {
        struct shmemi_allocation allocation;
        char reason[160];
        CHECK(!open_object(device_alloc(AREA), AREA, &allocation, reason));
        array[i] = allocation.place;
    }
}

int main(int argc, char **argv)
{
    CUcontext primary;
    if (memory->open() || memory->device_count() == 0) {
        printf("# no CUDA device: skipped\n");
        return SKIP;
    }
    load_user_functions();
    USE(shmemi_cuda.cuDevicePrimaryCtxRetain(&primary, 0));
    USE(user.cuCtxSetCurrent(primary));
    make_arrays();
    if (!shmemi_cuda_has_kernels(array[0].object)) {
        printf("# no kernels for this CUDA device: skipped\n");
        return SKIP;
    }
    check_ops();
    check_refusals();
    check_rows();
    check_many_rows();
    if (argc > 1 && !strcmp(argv[1], "time"))
        print_times(primary);
    memory->close();
    printf("# %d failures\n", n_failures);
    return n_failures ? 1 : 0;
}
