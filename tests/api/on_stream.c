/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Operations on CUDA streams. The driver is opened at run time; no kernel is needed.
 */
#include "on_check.h"

#include <dlfcn.h>
#include <stdbool.h>

typedef unsigned long long cuda_address_t;
typedef struct CUctx_st *cuda_context_t;
typedef struct CUevent_st *cuda_event_t;
typedef struct CUgraph_st *cuda_graph_t;
typedef struct CUgraphExec_st *cuda_graph_exec_t;

enum { STREAM_NON_BLOCKING = 1, EVENT_DISABLE_TIMING = 2, CAPTURE_RELAXED = 2, NOT_READY = 600 };

#define CUDA_CALLS(X)                                                                                                  \
    X(cuInit, (unsigned flags))                                                                                        \
    X(cuDeviceGet, (int *device, int ordinal))                                                                         \
    X(cuDevicePrimaryCtxRetain, (cuda_context_t * context, int device))                                                \
    X(cuCtxSetCurrent, (cuda_context_t context))                                                                       \
    X(cuCtxCreate_v2, (cuda_context_t * context, unsigned flags, int device))                                          \
    X(cuCtxDestroy_v2, (cuda_context_t context))                                                                       \
    X(cuStreamCreate, (shmemx_stream_t * stream, unsigned flags))                                                      \
    X(cuStreamCreateWithPriority, (shmemx_stream_t * stream, unsigned flags, int priority))                            \
    X(cuCtxGetStreamPriorityRange, (int *least, int *greatest))                                                        \
    X(cuStreamSynchronize, (shmemx_stream_t stream))                                                                   \
    X(cuStreamBeginCapture_v2, (shmemx_stream_t stream, int mode))                                                     \
    X(cuStreamEndCapture, (shmemx_stream_t stream, cuda_graph_t * graph))                                              \
    X(cuGraphInstantiateWithFlags, (cuda_graph_exec_t * exec, cuda_graph_t graph, unsigned long long flags))           \
    X(cuGraphLaunch, (cuda_graph_exec_t exec, shmemx_stream_t stream))                                                 \
    X(cuEventCreate, (cuda_event_t * event, unsigned flags))                                                           \
    X(cuEventRecord, (cuda_event_t event, shmemx_stream_t stream))                                                     \
    X(cuEventQuery, (cuda_event_t event))                                                                              \
    X(cuMemAlloc_v2, (cuda_address_t * address, size_t size))                                                          \
    X(cuMemFree_v2, (cuda_address_t address))                                                                          \
    X(cuMemcpyHtoD_v2, (cuda_address_t dest, const void *source, size_t size))                                         \
    X(cuMemcpyDtoH_v2, (void *dest, cuda_address_t source, size_t size))                                               \
    X(cuMemcpyDtoDAsync_v2, (cuda_address_t dest, cuda_address_t source, size_t size, shmemx_stream_t stream))         \
    X(cuMemsetD32Async, (cuda_address_t dest, unsigned value, size_t n, shmemx_stream_t stream))

static struct {
#define FIELD(symbol, parameters) int(*symbol) parameters;
    CUDA_CALLS(FIELD)
} cuda;

static shmemx_stream_t lanes[ON_LANES];
static cuda_event_t marks[ON_LANES];
static cuda_address_t buffer;
static cuda_context_t primary;
static int device;

#define TRY(_call)                                                                                                     \
    do {                                                                                                               \
        int _error = (_call);                                                                                          \
        CHECK_THAT(_error == 0, "%s: CUDA error %d", #_call, _error);                                                  \
    } while (0)

static bool load(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    bool complete = library != NULL;
#define LOAD(symbol, parameters) complete = complete && (*(void **)&cuda.symbol = dlsym(library, #symbol));
    CUDA_CALLS(LOAD)
    return complete;
}

/* One stream of low priority, one of high: small puts with signal are done in different ways. */
static bool open_device(int index)
{
    int least, greatest;
    if (index < 0 || !load() || cuda.cuInit(0) || cuda.cuDeviceGet(&device, index))
        return false;
    TRY(cuda.cuDevicePrimaryCtxRetain(&primary, device));
    TRY(cuda.cuCtxSetCurrent(primary));
    TRY(cuda.cuCtxGetStreamPriorityRange(&least, &greatest));
    for (int i = 0; i < ON_LANES; i++) {
        TRY(cuda.cuStreamCreateWithPriority(&lanes[i], STREAM_NON_BLOCKING, i == 0 ? least : greatest));
        TRY(cuda.cuEventCreate(&marks[i], EVENT_DISABLE_TIMING));
    }
    TRY(cuda.cuMemAlloc_v2(&buffer, ON_BYTES));
    return true;
}

/* ---- The program's own work -------------------------------------------------------------------------------------- */

static void fill(int lane, size_t offset, uint32_t value, size_t n_words)
{
    TRY(cuda.cuMemsetD32Async(buffer + offset, value, n_words, lanes[lane]));
}

static void copy(int lane, size_t to, size_t from, size_t nbytes)
{
    TRY(cuda.cuMemcpyDtoDAsync_v2(buffer + to, buffer + from, nbytes, lanes[lane]));
}

static void mark(int lane)
{
    TRY(cuda.cuEventRecord(marks[lane], lanes[lane]));
}

static int has_passed(int lane)
{
    int error = cuda.cuEventQuery(marks[lane]);
    CHECK(error == 0 || error == NOT_READY);
    return error == 0;
}

static void finish(int lane)
{
    TRY(cuda.cuStreamSynchronize(lanes[lane]));
}

static void read_bytes(void *dest, size_t offset, size_t nbytes)
{
    TRY(cuda.cuMemcpyDtoH_v2(dest, buffer + offset, nbytes));
}

static void write_bytes(size_t offset, const void *source, size_t nbytes)
{
    TRY(cuda.cuMemcpyHtoD_v2(buffer + offset, source, nbytes));
}

/* ---- The library's ----------------------------------------------------------------------------------------------- */

static void put(int lane, void *dest, const void *source, size_t nbytes, int pe)
{
    shmemx_putmem_on_stream(dest, source, nbytes, pe, lanes[lane]);
}

static void get(int lane, void *dest, const void *source, size_t nbytes, int pe)
{
    shmemx_getmem_on_stream(dest, source, nbytes, pe, lanes[lane]);
}

static void put_signal(int lane, void *dest, const void *source, size_t nbytes, uint64_t *word, uint64_t value, int op,
                       int pe)
{
    shmemx_putmem_signal_on_stream(dest, source, nbytes, word, value, op, pe, lanes[lane]);
}

static void signal_op(int lane, uint64_t *word, uint64_t value, int op, int pe)
{
    shmemx_signal_op_on_stream(word, value, op, pe, lanes[lane]);
}

static void wait_until(int lane, uint64_t *word, int cmp, uint64_t value)
{
    shmemx_signal_wait_until_on_stream(word, cmp, value, lanes[lane]);
}

static void quiet(int lane)
{
    shmemx_quiet_on_stream(lanes[lane]);
}

static void sync_all(int lane)
{
    shmemx_sync_all_on_stream(lanes[lane]);
}

static void barrier_all(int lane)
{
    shmemx_barrier_all_on_stream(lanes[lane]);
}

static const struct on_ops ops = {
    .type = OSHM_MEMTYPE_CUDA,
    .fill = fill,
    .copy = copy,
    .mark = mark,
    .has_passed = has_passed,
    .finish = finish,
    .read = read_bytes,
    .write = write_bytes,
    .put = put,
    .get = get,
    .put_signal = put_signal,
    .signal_op = signal_op,
    .wait = wait_until,
    .quiet = quiet,
    .sync = sync_all,
    .barrier = barrier_all,
};

/* ---- Only CUDA has -------------------------------------------------------------------------------------------------- */

static uint32_t first_word(size_t offset)
{
    uint32_t word;
    read_bytes(&word, offset, sizeof word);
    return word;
}

/* Local arguments that nobody mapped; the default streams. */
static void check_unmapped(char *map)
{
    cuda_address_t mine;
    shmemx_stream_t streams[] = {lanes[0], NULL, (shmemx_stream_t)1, (shmemx_stream_t)2};
    TRY(cuda.cuMemAlloc_v2(&mine, 8192));
    for (uint32_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        shmem_barrier_all();
        TRY(cuda.cuMemsetD32Async(mine, 1000 * (i + 1) + (uint32_t)shmem_my_pe(), 1024, streams[i]));
        shmemx_putmem_on_stream(map + ON_DATA, (void *)mine, 4096, check_target(1), streams[i]);
        shmemx_barrier_all_on_stream(streams[i]);
        shmemx_getmem_on_stream((void *)(mine + 4096), map + ON_DATA, 4096, check_target(1), streams[i]);
        TRY(cuda.cuMemcpyDtoDAsync_v2(buffer + ON_DATA + 8192, mine + 4096, 4096, streams[i]));
        TRY(cuda.cuStreamSynchronize(streams[i]));
        CHECK(first_word(ON_DATA) == 1000 * (i + 1) + (uint32_t)check_origin(1));
        CHECK(first_word(ON_DATA + 8192) == 1000 * (i + 1) + (uint32_t)shmem_my_pe());
    }
    TRY(cuda.cuMemFree_v2(mine));
    shmem_barrier_all();
}

/* A stream of a context that the program made, which has none of the mapped memory. */
static void check_other_context(char *map)
{
    cuda_context_t other;
    shmemx_stream_t stream;
    uint64_t *word = (uint64_t *)map;
    fill(0, 0, 0, 2);
    fill(0, ON_DATA + 4096, 500 + (uint32_t)shmem_my_pe(), 1024);
    finish(0);
    TRY(cuda.cuCtxCreate_v2(&other, 0, device));
    TRY(cuda.cuStreamCreate(&stream, STREAM_NON_BLOCKING));
    TRY(cuda.cuCtxSetCurrent(primary));
    shmem_barrier_all();
    shmemx_putmem_signal_on_stream(map + ON_DATA, map + ON_DATA + 4096, 4096, word, 3, SHMEM_SIGNAL_SET,
                                   check_target(1), stream);
    shmemx_signal_wait_until_on_stream(word, SHMEM_CMP_EQ, 3, stream);
    shmemx_getmem_on_stream(map + ON_DATA + 8192, map + ON_DATA, 4096, check_target(1), stream);
    shmemx_barrier_all_on_stream(stream);
    TRY(cuda.cuStreamSynchronize(stream));
    CHECK(first_word(ON_DATA) == 500 + (uint32_t)check_origin(1));
    CHECK(first_word(ON_DATA + 8192) == 500 + (uint32_t)shmem_my_pe());
    TRY(cuda.cuCtxDestroy_v2(other));
    TRY(cuda.cuCtxSetCurrent(primary));
    shmem_barrier_all();
}

/* Does every PE reach the next one directly? */
static bool all_are_direct(const char *map)
{
    static int others; /* symmetric: some PE does not */
    const char *route = shmemx_route(map, check_target(1));
    for (int pe = 0; strcmp(route, "cuda-ipc") && strcmp(route, "local") && pe < shmem_n_pes(); pe++)
        shmem_int_p(&others, 1, pe);
    shmem_barrier_all();
    return !others;
}

/* Puts and signals of a direct route become part of a graph. */
static void check_graph(char *map)
{
    cuda_graph_t graph;
    cuda_graph_exec_t exec;
    uint64_t *word = (uint64_t *)map;
    if (!all_are_direct(map))
        return;
    TRY(cuda.cuStreamBeginCapture_v2(lanes[0], CAPTURE_RELAXED));
    put_signal(0, map + ON_DATA, map + ON_DATA + 4096, 4096, word, 9, SHMEM_SIGNAL_SET, check_target(1));
    wait_until(0, word, SHMEM_CMP_EQ, 9);
    copy(0, ON_DATA + 8192, ON_DATA, 4096);
    TRY(cuda.cuStreamEndCapture(lanes[0], &graph));
    TRY(cuda.cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (uint32_t i = 1; i <= 3; i++) {
        fill(0, 0, 0, 2);
        fill(0, ON_DATA + 4096, i * 10 + (uint32_t)shmem_my_pe(), 1024);
        finish(0);
        shmem_barrier_all();
        TRY(cuda.cuGraphLaunch(exec, lanes[0]));
        finish(0);
        CHECK(first_word(ON_DATA + 8192) == i * 10 + (uint32_t)check_origin(1));
        shmem_barrier_all();
    }
}

/* Nothing is finished by the program: shmumap and shmem_finalize see to what was enqueued. */
static void check_drain(char *map)
{
    fill(0, ON_DATA, 100 + (uint32_t)shmem_my_pe(), 1);
    for (int i = 0; i < 10; i++)
        put(0, map + ON_DATA + 4096, map + ON_DATA, 4, check_target(1));
    shmumap(map);
    CHECK(first_word(ON_DATA + 4096) == 100 + (uint32_t)check_origin(1));
    barrier_all(1);
}

int main(void)
{
    static int absent; /* symmetric: some PE has no device */
    shmem_init();
    bool opened = open_device(shmemx_my_device(OSHM_MEMTYPE_CUDA));
    for (int pe = 0; !opened && pe < shmem_n_pes(); pe++)
        shmem_int_p(&absent, 1, pe);
    shmem_barrier_all();
    if (absent) {
        shmem_finalize();
        return CHECK_SKIP;
    }
    char *map = on_check(&ops, (void *)buffer);
    check_unmapped(map);
    check_graph(map);
    check_other_context(map);
    check_drain(map);
    return check_end();
}
