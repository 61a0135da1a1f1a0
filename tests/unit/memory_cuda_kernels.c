/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The device kernels that combine arrays, against what the CPU does with the same bytes: every kind of number and
 * operation, all forms, in place, arrays with equal and with different alignments. Skipped (77) when there is no CUDA
 * device, or no kernel for it. With "time" as its argument it prints what they cost.
 */
#include "cuda_user.h"
#include "gpu/half_floats.h"
#include "shmem/coll/op.h"

#include <errno.h>

enum { ARRAYS = 4, MOST = 5000, AREA = MOST * 16 + 64 };

static struct shmemi_place array[ARRAYS + 1]; /* of AREA bytes; the last for a dest of its own */
static _Alignas(16) char model[ARRAYS + 1][AREA], found[AREA];

/* Values whose sums and products stay within the range of the type. */
static void fill_numbers(char *into, enum shmemi_kind kind, unsigned seed)
{
    fill(into, AREA, seed);
    for (size_t i = 0; i < AREA / sizeof(float) && (kind == SHMEMI_KIND_F32 || kind == SHMEMI_KIND_C32); i++)
        ((float *)into)[i] = (float)(1 + (int)((i * 7919 + seed * 31) % 1000)) / 512 - 1;
    for (size_t i = 0; i < AREA / sizeof(double) && (kind == SHMEMI_KIND_F64 || kind == SHMEMI_KIND_C64); i++)
        ((double *)into)[i] = (double)(1 + (int)((i * 7919 + seed * 31) % 1000)) / 500 - 1;
}

static void fill_halves(char *into, enum shmemi_kind kind, unsigned seed)
{
    for (size_t i = 0; i < AREA / sizeof(uint16_t); i++) {
        float number = (float)(1 + (int)((i * 7919 + seed * 31) % 1000)) / 512 - 1;
        ((uint16_t *)into)[i] =
            kind == SHMEMI_KIND_F16 ? shmemi_half_of_float(number) : shmemi_bfloat16_of_float(number);
    }
}

static void load_arrays(enum shmemi_kind kind, unsigned seed)
{
    for (int i = 0; i <= ARRAYS; i++) {
        if (kind == SHMEMI_KIND_F16 || kind == SHMEMI_KIND_BF16)
            fill_halves(model[i], kind, seed + (unsigned)i);
        else
            fill_numbers(model[i], kind, seed + (unsigned)i);
        USE(cuda.cuMemcpyHtoD(array[i].address, model[i], AREA));
    }
}

static bool arrays_are_right(void)
{
    bool right = true;
    for (int i = 0; i <= ARRAYS; i++) {
        USE(cuda.cuMemcpyDtoH(found, array[i].address, AREA));
        right = right && !memcmp(found, model[i], AREA);
    }
    return right;
}

/* Offsets of the arrays, in elements or, for the alignment of the parts of complex numbers, bytes. */
struct layout {
    size_t at[ARRAYS + 1];
};

/* Sums of numbers of 16 bits are rounded once. */
static void sum_halves(const struct shmemi_op *op, const struct layout *layout, char *sum, size_t nbytes)
{
    static float total[AREA / 2], next[AREA / 2];
    const size_t n = nbytes / op->size;
    op->widen(total, model[0] + layout->at[0], n);
    for (int i = 1; i < ARRAYS; i++) {
        op->widen(next, model[i] + layout->at[i], n);
        for (size_t k = 0; k < n; k++)
            total[k] += next[k];
    }
    op->narrow(sum, total, n);
}

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
    if (op->widen && form == SHMEMI_COMBINE_ALL)
        sum_halves(op, layout, sum, nbytes);
    for (int i = first_dest; i <= ARRAYS && form == SHMEMI_COMBINE_ALL; i++)
        memcpy(model[i] + layout->at[i], sum, nbytes);
}

/* Sources: all but the last array; dests: prefixes in place, else from first_dest to the last. */
static int combine(const struct shmemi_op *op, enum shmemi_combine_form form, const struct layout *layout,
                   int first_dest, size_t nelems)
{
    struct shmemi_place source[ARRAYS], dest[ARRAYS + 1];
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
    struct shmemi_combination combination = {
        shmemi_operation_of(op), shmemi_kind_of(op), form, op->size, nelems, source, dest, ARRAYS, n_dests};
    return memory->combine(&combination);
}

static void check_case(const struct shmemi_op *op, enum shmemi_combine_form form, const struct layout *layout,
                       int first_dest, size_t nelems)
{
    load_arrays(shmemi_kind_of(op), (unsigned)(nelems + layout->at[1]));
    int rc = combine(op, form, layout, first_dest, nelems);
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

/* Complex numbers only need the alignment of their parts; the CPU handles arrays with less, and host memory. */
static void check_refusals(void)
{
    const struct shmemi_op *complex_sum = &shmemi_ops[SHMEMI_OP_sum][SHMEMI_KIND_C64];
    const struct layout halves = {{8, 8, 8, 8, 8}}, odd = {{0, 1, 0, 0, 0}}, whole = {{0}};
    check_case(complex_sum, SHMEMI_COMBINE_ALL, &halves, 0, 99);
    load_arrays(SHMEMI_KIND_U8, 1);
    CHECK(combine(&shmemi_ops[SHMEMI_OP_sum][SHMEMI_KIND_I32], SHMEMI_COMBINE_ALL, &odd, 0, 9) == -ENOTSUP);
    CHECK(combine(&shmemi_ops[SHMEMI_OP_sum][SHMEMI_KIND_F80], SHMEMI_COMBINE_ALL, &whole, 0, 9) == -ENOTSUP);
    CHECK(combine(complex_sum, SHMEMI_COMBINE_ALL, &whole, 0, 0) == 0);
    struct shmemi_place kept = array[1];
    array[1] = shmemi_place_host(found);
    CHECK(combine(complex_sum, SHMEMI_COMBINE_ALL, &whole, 0, 9) == -ENOTSUP);
    array[1] = kept;
    CHECK(arrays_are_right());
}

/* ---- Times ------------------------------------------------------------------------------------------------------- */

/* The shortest time of several runs, in microseconds. */
static double time_combine(const struct shmemi_combination *combination)
{
    double best = 1e30;
    for (int i = 0; i < 30; i++) {
        double start = now_us();
        CHECK(!memory->combine(combination));
        double took = now_us() - start;
        best = took < best ? took : best;
    }
    return best;
}

static void print_sum_times(const struct shmemi_place *place, const char *where)
{
    for (size_t nbytes = 8; nbytes <= (size_t)64 << 20; nbytes *= 8) {
        struct shmemi_combination sum = {
            SHMEMI_OP_sum, SHMEMI_KIND_F64, SHMEMI_COMBINE_ALL, 8, nbytes / 8, place, place, 2, 2};
        printf("# %s, sum of 2 arrays of %zu bytes to both: %.1f us\n", where, nbytes, time_combine(&sum));
    }
}

static void print_times(CUcontext context)
{
    const size_t most = (size_t)2 << 30;
    struct shmemi_place here[2] = {{memory, array[0].object, user_alloc(most)},
                                   {memory, array[0].object, user_alloc(most)}};
    struct shmemi_place pair[2] = {here[0], {memory, array[0].object, allocate_on_peer(context, most)}};
    print_sum_times(here, "one device");
    if (!pair[1].address)
        return;
    print_sum_times(pair, "two devices");
}

static void make_arrays(void)
{
    for (int i = 0; i <= ARRAYS; i++) {
        struct shmemi_allocation allocation;
        char reason[160];
        CHECK(!open_object(user_alloc(AREA), AREA, &allocation, reason));
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
    USE(cuda.cuCtxSetCurrent(primary));
    make_arrays();
    if (!shmemi_gpu_has_kernels(array[0].object)) {
        printf("# no kernels for this CUDA device: skipped\n");
        return SKIP;
    }
    check_ops();
    check_refusals();
    if (argc > 1 && !strcmp(argv[1], "time"))
        print_times(primary);
    memory->close();
    printf("# %d failures\n", n_failures);
    return n_failures ? 1 : 0;
}
