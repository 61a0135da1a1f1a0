/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA contexts, devices and threads of the program, in every combination: memory of the primary context, of one that
 * cuCtxCreate has made and of another device, mapped by PEs that differ in this or do not, used by transfers and by streams
 * of all of these contexts, their default streams too, by the main thread and by another one. At last the program resets
 * its device and begins anew. Every byte of the buffers is compared. Skipped (77) without a CUDA device.
 */
#include "../unit/cuda_user.h"

#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>

enum { WORDS = 6000, BYTES = WORDS * (int)sizeof(long), FRONT = 8, LENGTH = 700, BLOCK = 40, CONTEXTS = 3 };
/* Words of a buffer: FRONT that stay, a put, a put of a stream, a sum, a broadcast, blocks of all PEs; more that stay. */
enum { PUT = FRONT, STREAM = PUT + LENGTH, SUM = STREAM + LENGTH, ROOTS = SUM + BLOCK, BLOCKS = ROOTS + BLOCK };
enum { SOURCE = WORDS / 2 };

static CUcontext contexts[CONTEXTS]; /* primary, made by the program, the other device's; NULL: there is none */
static CUdevice device;
static int me, n_pes, next, previous;
static long expected[WORDS], found[WORDS];
static uint64_t *arrived; /* on the heap */
static uint64_t n_arrived;
static long stamp;

static long value(int pe, int i)
{
    return stamp * 1000000 + pe * 10000 + i;
}

static CUcontext open_context(int kind)
{
    CUcontext context = NULL, popped;
    const int count = memory->device_count();
    if (kind == 1) { /* MPS may refuse a process its second context */
        const CUresult result = user.create_context(&context, 0, device);
        CHECK(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY);
        if (result == CUDA_SUCCESS)
            USE(shmemi_cuda.cuCtxPopCurrent(&popped));
    } else if (kind == 0 || count > 1) {
        USE(shmemi_cuda.cuDevicePrimaryCtxRetain(&context, (device + (kind ? 1 : 0)) % count));
    }
    return context;
}

/* ---- One buffer, one stream -------------------------------------------------------------------------------------- */

static void write_all(CUdeviceptr buffer)
{
    for (int i = 0; i < WORDS; i++)
        expected[i] = value(me, i);
    USE(cuda.cuMemcpyHtoD(buffer, expected, BYTES));
    USE(shmemi_cuda.cuCtxSynchronize());
}

static void compare_all(CUdeviceptr buffer, const char *what)
{
    int n_wrong = 0;
    USE(cuda.cuMemcpyDtoH(found, buffer, BYTES));
    for (int i = 0; i < WORDS; i++)
        if (found[i] != expected[i] && n_wrong++ < 3)
            fprintf(stderr, "PE %d: %s: word %d is %ld, not %ld\n", me, what, i, found[i], expected[i]);
    CHECK(!n_wrong);
}

static void enqueue_all(long *mapped, CUstream stream)
{
    shmemx_putmem_signal_on_stream(mapped + STREAM, mapped + SOURCE, LENGTH * sizeof(long), arrived, ++n_arrived,
                                   SHMEM_SIGNAL_SET, next, stream);
    shmemx_signal_wait_until_on_stream(arrived, SHMEM_CMP_GE, n_arrived, stream);
    shmemx_long_sum_reduce_on_stream(SHMEM_TEAM_WORLD, mapped + SUM, mapped + SOURCE, BLOCK, stream);
    shmemx_long_broadcast_on_stream(SHMEM_TEAM_WORLD, mapped + ROOTS, mapped + SOURCE, BLOCK, n_pes - 1, stream);
    shmemx_long_fcollect_on_stream(SHMEM_TEAM_WORLD, mapped + BLOCKS, mapped + SOURCE, BLOCK, stream);
    shmemx_barrier_all_on_stream(stream);
}

static void expect_all(void)
{
    for (int i = 0; i < LENGTH; i++)
        expected[PUT + i] = expected[STREAM + i] = value(previous, SOURCE + i);
    for (int i = 0; i < BLOCK; i++) {
        expected[SUM + i] = 0;
        for (int pe = 0; pe < n_pes; pe++) {
            expected[SUM + i] += value(pe, SOURCE + i);
            expected[BLOCKS + pe * BLOCK + i] = value(pe, SOURCE + i);
        }
        expected[ROOTS + i] = value(n_pes - 1, SOURCE + i);
    }
}

struct use {
    long *mapped;
    CUdeviceptr buffer;
    CUcontext of_stream, of_memory;
    CUstream stream; /* NULL: a new one */
    const char *what;
};

static void *use_stream(void *argument)
{
    const struct use *use = argument;
    CUstream stream = use->stream;
    stamp++;
    USE(cuda.cuCtxSetCurrent(use->of_memory));
    write_all(use->buffer);
    shmem_barrier_all();
    shmem_long_put(use->mapped + PUT, use->mapped + SOURCE, LENGTH, next);
    USE(cuda.cuCtxSetCurrent(use->of_stream));
    if (!stream)
        USE(shmemi_cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    enqueue_all(use->mapped, stream);
    USE(cuda.cuStreamSynchronize(stream));
    if (!use->stream)
        USE(cuda.cuStreamDestroy(stream));
    shmem_barrier_all();
    expect_all();
    USE(cuda.cuCtxSetCurrent(use->of_memory));
    compare_all(use->buffer, use->what);
    shmem_barrier_all();
    return NULL;
}

static void use_by_thread(struct use *use)
{
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, use_stream, use));
    CHECK(!pthread_join(thread, NULL));
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

/* PEs with an odd number take the second kind. */
static void check_memory(int kind, int kind_of_odd)
{
    static char what[120];
    const int mine = me % 2 ? kind_of_odd : kind;
    const CUcontext context = contexts[mine];
    const CUstream defaults[] = {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    USE(cuda.cuCtxSetCurrent(context));
    const CUdeviceptr buffer = user_alloc(BYTES);
    long *mapped = shmmap((void *)buffer, BYTES, OSHM_MEMTYPE_CUDA);
    CHECK(mapped);
    if (!mapped)
        shmem_global_exit(1);
    for (int i = 0; i < CONTEXTS; i++) {
        struct use use = {mapped, buffer, contexts[(i + me) % CONTEXTS], context, NULL, what};
        if (!use.of_stream)
            use.of_stream = contexts[0];
        snprintf(what, sizeof what, "memory of context %d, stream of context %d", mine, (i + me) % CONTEXTS);
        use_stream(&use);
        use_by_thread(&use);
        for (int k = 0; k < 2; k++) {
            use.stream = defaults[k];
            snprintf(what, sizeof what, "memory of context %d, default stream %d of context %d", mine, k,
                     (i + me) % CONTEXTS);
            use_stream(&use);
        }
    }
    USE(cuda.cuCtxSetCurrent(context));
    shmumap(mapped);
    USE(cuda.cuMemFree(buffer));
}

/* A kind of context that a PE lacks is left out by all. */
static void open_contexts(void)
{
    static int have[CONTEXTS];
    for (int i = 0; i < CONTEXTS; i++) {
        contexts[i] = open_context(i);
        have[i] = contexts[i] != NULL;
    }
    shmem_int_min_reduce(SHMEM_TEAM_WORLD, have, have, CONTEXTS);
    for (int i = 0; i < CONTEXTS; i++)
        if (!have[i]) {
            printf("# PE %d: without contexts of kind %d\n", me, i);
            contexts[i] = NULL;
        }
}

/* The first memory decides where GPUs meet: another kind for each number of PEs. */
static void check_all(void)
{
    const int first = (n_pes + 1) % CONTEXTS;
    for (int i = 0; i < CONTEXTS; i++) {
        const int kind = (first + i) % CONTEXTS;
        if (!contexts[kind])
            continue;
        check_memory(kind, kind);
        check_memory(kind, kind || !contexts[1] ? 0 : 1);
    }
}

/* All that the driver has made in the primary context is gone then. Streams need new memory first. */
static void check_reset(void)
{
    USE(cuda.cuCtxSetCurrent(contexts[0]));
    shmem_barrier_all();
    USE(user.cuDevicePrimaryCtxReset(device));
    USE(shmemi_cuda.cuDevicePrimaryCtxRetain(&contexts[0], device));
    USE(cuda.cuCtxSetCurrent(contexts[0]));
    const CUdeviceptr buffer = user_alloc(BYTES);
    long *mapped = shmmap((void *)buffer, BYTES, OSHM_MEMTYPE_CUDA);
    CHECK(mapped);
    stamp++;
    write_all(buffer);
    shmem_barrier_all();
    shmem_long_put(mapped + PUT, mapped + SOURCE, LENGTH, next);
    shmem_barrier_all();
    for (int i = 0; i < LENGTH; i++)
        expected[PUT + i] = value(previous, SOURCE + i);
    compare_all(buffer, "after a reset");
    shmumap(mapped);
    USE(cuda.cuMemFree(buffer));
}

int main(void)
{
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe();
    n_pes = shmem_n_pes();
    next = (me + 1) % n_pes;
    previous = (me + n_pes - 1) % n_pes;
    if (!shmemi_memory_of_type(SHMEMI_MEMTYPE_CUDA) || memory->device_count() == 0) {
        printf("# no CUDA device: skipped\n");
        shmem_finalize();
        return SKIP;
    }
    load_user_functions();
    device = shmemx_my_device(OSHM_MEMTYPE_CUDA);
    arrived = shmem_calloc(1, sizeof *arrived);
    open_contexts();
    check_all();
    check_reset();
    if (n_failures)
        shmem_global_exit(1);
    shmem_finalize();
    return 0;
}
