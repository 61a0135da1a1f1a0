/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations on CUDA streams. The driver is opened at run time; no kernel is needed.
 */
#include "on_check.h"
#include "support/cuda_driver.h"

#include <dlfcn.h>

/* Functions that support does not use. */
#define MORE_FUNCTIONS(X)                                                                                              \
    X(cuCtxDestroy)                                                                                                    \
    X(cuStreamCreate)                                                                                                  \
    X(cuStreamBeginCapture)                                                                                            \
    X(cuStreamEndCapture)                                                                                              \
    X(cuGraphInstantiateWithFlags)                                                                                     \
    X(cuGraphLaunch)                                                                                                   \
    X(cuEventQuery)
#define STRING(_text) #_text
#define LOAD(_name)                                                                                                    \
    *(void **)&more._name = dlsym(library, STRING(_name));                                                             \
    CHECK(more._name);

static struct {
    MORE_FUNCTIONS(CUDA_FIELD)
    /* cuCtxCreate has had four forms; this is the second */
    CUresult (*create_context)(CUcontext *, unsigned, CUdevice);
} more;

static CUevent marks[ON_LANES];
static CUcontext primary;

#define TRY(_call)                                                                                                     \
    do {                                                                                                               \
        int _error = (int)(_call);                                                                                     \
        CHECK_THAT(_error == 0, "%s: CUDA error %d", #_call, _error);                                                  \
    } while (0)

static void load_more(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    MORE_FUNCTIONS(LOAD)
    *(void **)&more.create_context = dlsym(library, "cuCtxCreate_v2");
    CHECK(more.create_context);
}

/* One stream of low priority, one of high: small puts with signal are done in different ways. */
static bool open_device(void)
{
    if (!on_open(&device_cuda_ops))
        return false;
    load_more();
    primary = cuda_device(on_device)->context;
    TRY(cuda.cuCtxSetCurrent(primary));
    for (int i = 0; i < ON_LANES; i++)
        TRY(cuda.cuEventCreate(&marks[i], CU_EVENT_DISABLE_TIMING));
    return true;
}

/* ---- The program's own work -------------------------------------------------------------------------------------- */

static void mark(int lane)
{
    TRY(cuda.cuEventRecord(marks[lane], on_lanes[lane]));
}

static int has_passed(int lane)
{
    CUresult error = more.cuEventQuery(marks[lane]);
    CHECK(error == 0 || error == CUDA_ERROR_NOT_READY);
    return error == 0;
}

/* ---- The library's operations ------------------------------------------------------------------------------------ */

static void put(int lane, void *dest, const void *source, size_t nbytes, int pe)
{
    shmemx_putmem_on_stream(dest, source, nbytes, pe, on_lanes[lane]);
}

static void get(int lane, void *dest, const void *source, size_t nbytes, int pe)
{
    shmemx_getmem_on_stream(dest, source, nbytes, pe, on_lanes[lane]);
}

static void put_signal(int lane, void *dest, const void *source, size_t nbytes, uint64_t *word, uint64_t value, int op,
                       int pe)
{
    shmemx_putmem_signal_on_stream(dest, source, nbytes, word, value, op, pe, on_lanes[lane]);
}

static void signal_op(int lane, uint64_t *word, uint64_t value, int op, int pe)
{
    shmemx_signal_op_on_stream(word, value, op, pe, on_lanes[lane]);
}

static void wait_until(int lane, uint64_t *word, int cmp, uint64_t value)
{
    shmemx_signal_wait_until_on_stream(word, cmp, value, on_lanes[lane]);
}

static void quiet(int lane)
{
    shmemx_quiet_on_stream(on_lanes[lane]);
}

static void sync_all(int lane)
{
    shmemx_sync_all_on_stream(on_lanes[lane]);
}

static void barrier_all(int lane)
{
    shmemx_barrier_all_on_stream(on_lanes[lane]);
}

static const struct on_ops ops = {
    .mark = mark,
    .has_passed = has_passed,
    .put = put,
    .get = get,
    .put_signal = put_signal,
    .signal_op = signal_op,
    .wait = wait_until,
    .quiet = quiet,
    .sync = sync_all,
    .barrier = barrier_all,
};

/* ---- What only CUDA has ------------------------------------------------------------------------------------------ */

/* Local arguments that nobody mapped; the default streams. */
static void check_unmapped(char *map)
{
    CUdeviceptr mine;
    shmemx_stream_t streams[] = {on_lanes[0], NULL, (shmemx_stream_t)1, (shmemx_stream_t)2};
    TRY(cuda.cuMemAlloc(&mine, 8192));
    for (uint32_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        shmem_barrier_all();
        TRY(cuda.cuMemsetD32Async(mine, 1000 * (i + 1) + (uint32_t)shmem_my_pe(), 1024, streams[i]));
        shmemx_putmem_on_stream(map + ON_DATA, (void *)mine, 4096, check_target(1), streams[i]);
        shmemx_barrier_all_on_stream(streams[i]);
        shmemx_getmem_on_stream((void *)(mine + 4096), map + ON_DATA, 4096, check_target(1), streams[i]);
        TRY(cuda.cuMemcpyDtoDAsync(cuda_address(on_buffer) + ON_DATA + 8192, mine + 4096, 4096, streams[i]));
        TRY(cuda.cuStreamSynchronize(streams[i]));
        CHECK(on_word(ON_DATA) == 1000 * (i + 1) + (uint32_t)check_origin(1));
        CHECK(on_word(ON_DATA + 8192) == 1000 * (i + 1) + (uint32_t)shmem_my_pe());
    }
    TRY(cuda.cuMemFree(mine));
    shmem_barrier_all();
}

/* A stream of a context that the program made, which has none of the mapped memory. */
static void check_other_context(char *map)
{
    CUcontext other;
    shmemx_stream_t stream;
    uint64_t *word = (uint64_t *)map;
    on_fill(0, 0, 0, 2);
    on_fill(0, ON_DATA + 4096, 500 + (uint32_t)shmem_my_pe(), 1024);
    on_finish(0);
    TRY(more.create_context(&other, 0, shmemx_my_device(OSHM_MEMTYPE_CUDA)));
    TRY(more.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    TRY(cuda.cuCtxSetCurrent(primary));
    shmem_barrier_all();
    shmemx_putmem_signal_on_stream(map + ON_DATA, map + ON_DATA + 4096, 4096, word, 3, SHMEM_SIGNAL_SET,
                                   check_target(1), stream);
    shmemx_signal_wait_until_on_stream(word, SHMEM_CMP_EQ, 3, stream);
    shmemx_quiet_on_stream(stream); /* the put may be under way still */
    shmemx_getmem_on_stream(map + ON_DATA + 8192, map + ON_DATA, 4096, check_target(1), stream);
    shmemx_barrier_all_on_stream(stream);
    TRY(cuda.cuStreamSynchronize(stream));
    CHECK(on_word(ON_DATA) == 500 + (uint32_t)check_origin(1));
    CHECK(on_word(ON_DATA + 8192) == 500 + (uint32_t)shmem_my_pe());
    TRY(more.cuCtxDestroy(other));
    TRY(cuda.cuCtxSetCurrent(primary));
    shmem_barrier_all();
}

/* Whether every PE reaches the next one directly. */
static bool all_are_direct(const char *map)
{
    static int others; /* symmetric: some PE does not */
    const char *route = shmemx_route(map, check_target(1));
    const bool is_direct = !strcmp(route, "cuda-ipc") || !strcmp(route, "shared") || !strcmp(route, "local");
    for (int pe = 0; !is_direct && pe < shmem_n_pes(); pe++)
        shmem_int_p(&others, 1, pe);
    shmem_barrier_all();
    return !others;
}

/* Puts and signals of a direct route become part of a graph. */
static void check_graph(char *map)
{
    CUgraph graph;
    CUgraphExec exec;
    uint64_t *word = (uint64_t *)map;
    if (!all_are_direct(map))
        return;
    TRY(more.cuStreamBeginCapture(on_lanes[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    put_signal(0, map + ON_DATA, map + ON_DATA + 4096, 4096, word, 9, SHMEM_SIGNAL_SET, check_target(1));
    wait_until(0, word, SHMEM_CMP_EQ, 9);
    on_copy(0, ON_DATA + 8192, ON_DATA, 4096);
    TRY(more.cuStreamEndCapture(on_lanes[0], &graph));
    TRY(more.cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (uint32_t i = 1; i <= 3; i++) {
        on_fill(0, 0, 0, 2);
        on_fill(0, ON_DATA + 4096, i * 10 + (uint32_t)shmem_my_pe(), 1024);
        on_finish(0);
        shmem_barrier_all();
        TRY(more.cuGraphLaunch(exec, on_lanes[0]));
        on_finish(0);
        CHECK(on_word(ON_DATA + 8192) == i * 10 + (uint32_t)check_origin(1));
        shmem_barrier_all();
    }
}

/* ---- Typed operations, and graphs of them -------------------------------------------------------------------------- */

#define ON(_name, _lane, ...) shmemx_##_name##_on_stream(__VA_ARGS__, on_lanes[_lane])
#define ON_ALONE(_name, _lane) shmemx_##_name##_on_stream(on_lanes[_lane])

static bool captures; /* batches */
static CUstreamCaptureMode capture_mode;

static CUgraphExec end_capture(int lane)
{
    CUgraph graph;
    CUgraphExec exec;
    TRY(more.cuStreamEndCapture(on_lanes[lane], &graph));
    TRY(more.cuGraphInstantiateWithFlags(&exec, graph, 0));
    return exec;
}

static void batch_begin(int lane)
{
    if (captures)
        TRY(more.cuStreamBeginCapture(on_lanes[lane], capture_mode));
}

static void batch_end(int lane)
{
    if (captures)
        TRY(more.cuGraphLaunch(end_capture(lane), on_lanes[lane]));
    on_finish(lane);
}

#include "on_typed.h"

static void check_typed_graphs(char *map)
{
    const struct typed mapped = typed_at(map + ON_DATA, true);
    if (!all_are_direct(map))
        return;
    captures = true;
    for (int i = 0; i < 2; i++) {
        capture_mode = i ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL : CU_STREAM_CAPTURE_MODE_RELAXED;
        check_typed_in(&mapped, true);
    }
    captures = false;
}

/* A graph that takes away the signals that it waits for, launched many times without anything between. */
static void check_replays(char *map)
{
    enum { LAUNCHES = 100 };
    const struct typed t = typed_at(map + ON_DATA, true);
    uint64_t *words = (uint64_t *)area_of(&t, WORDS), *heap_words = check_shmem_malloc(2 * sizeof *heap_words);
    if (!all_are_direct(map))
        return;
    clear_areas(&t);
    heap_words[0] = heap_words[1] = 0;
    shmem_barrier_all();
    TRY(more.cuStreamBeginCapture(on_lanes[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    for (int half = 0; half < 2; half++) {
        ON(long_atomic_inc, 0, (long *)words + 4, t.next);
        ON(putmem_signal, 0, words + 8, words + 4, 8, heap_words + half, 1, SHMEM_SIGNAL_SET, t.next);
        ON(putmem_signal, 0, words + 12 + half, words + 4, 8, words, 1, SHMEM_SIGNAL_ADD, t.previous);
        ON(signal_wait_until_set, 0, heap_words + half, SHMEM_CMP_EQ, 1, 0);
        ON(signal_wait_until, 0, words, SHMEM_CMP_GE, 1);
        ON(signal_op, 0, words, (uint64_t)-1, SHMEM_SIGNAL_ADD, t.me);
    }
    CUgraphExec exec = end_capture(0);
    for (int i = 0; i < LAUNCHES; i++)
        TRY(more.cuGraphLaunch(exec, on_lanes[0]));
    on_finish(0);
    read_areas(&t);
    CHECK(((uint64_t *)(void *)typed_copy[WORDS])[0] == 0);
    CHECK(((uint64_t *)(void *)typed_copy[WORDS])[4] == 2 * LAUNCHES);
    CHECK(heap_words[0] == 0 && heap_words[1] == 0);
    shmem_free(heap_words);
}

/* Barriers in graphs, and others between them. */
static void check_graph_barriers(char *map)
{
    enum { LAUNCHES = 30 };
    const int me = shmem_my_pe(), n_pes = shmem_n_pes();
    const size_t own = ON_DATA, slots = ON_DATA + 4096, kept = ON_DATA + 8192;
    if (!all_are_direct(map))
        return;
    TRY(more.cuStreamBeginCapture(on_lanes[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    for (int pe = 0; pe < n_pes; pe++)
        put(0, map + slots + 4 * (size_t)me, map + own, 4, pe);
    barrier_all(0);
    on_copy(0, kept, slots, 4 * (size_t)n_pes);
    sync_all(0);
    CUgraphExec exec = end_capture(0);
    for (int i = 1; i <= LAUNCHES; i++) {
        on_fill(0, own, (uint32_t)(i * 100 + me), 1);
        TRY(more.cuGraphLaunch(exec, on_lanes[0]));
        on_copy(0, kept + (size_t)i * 4 * (size_t)n_pes, kept, 4 * (size_t)n_pes);
        if (i % 3 == 0)
            barrier_all(0);
        if (i % 7 == 0)
            sync_all(1);
    }
    on_finish(0);
    on_finish(1);
    for (int i = 1; i <= LAUNCHES; i++)
        for (int pe = 0; pe < n_pes; pe++) {
            uint32_t found = on_word(kept + ((size_t)i * (size_t)n_pes + (size_t)pe) * 4);
            CHECK_THAT(found == (uint32_t)(i * 100 + pe), "after launch %d the word of PE %d is %u", i, pe, found);
        }
    shmem_barrier_all();
}

/* ---- The end ------------------------------------------------------------------------------------------------------ */

/* The program completes nothing: shmumap and shmem_finalize complete what was enqueued. */
static void check_drain(char *map)
{
    on_fill(0, ON_DATA, 100 + (uint32_t)shmem_my_pe(), 1);
    for (int i = 0; i < 10; i++)
        put(0, map + ON_DATA + 4096, map + ON_DATA, 4, check_target(1));
    shmumap(map);
    CHECK(on_word(ON_DATA + 4096) == 100 + (uint32_t)check_origin(1));
    barrier_all(1);
}

int main(void)
{
    shmem_init();
    if (!open_device()) {
        shmem_finalize();
        return CHECK_SKIP;
    }
    char *map = on_check(&ops);
    CHECK(shmem_n_pes() > 1 || shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA));
    check_unmapped(map);
    check_graph(map);
    check_typed(map);
    check_typed_graphs(map);
    check_replays(map);
    check_graph_barriers(map);
    check_other_context(map);
    check_drain(map);
    return check_end();
}
