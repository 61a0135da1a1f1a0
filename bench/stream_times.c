/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times of operations on CUDA streams between PE 0 and the last PE, beside the driver's own copy on the same stream.
 * Medians in microseconds. Build: oshcc -O2 -o stream_times stream_times.c -ldl; run:
 * oshrun -n 2 ./stream_times [LARGEST_SIZE]
 */
#include <shmemx.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef unsigned long long cuda_address_t;

enum { BYTES = 64 << 20, DATA = 1 << 20, REPEATS = 200, IN_A_ROW = 100 };

#define CUDA_CALLS(X)                                                                                                  \
    X(cuInit, (unsigned flags))                                                                                        \
    X(cuDeviceGet, (int *device, int ordinal))                                                                         \
    X(cuDevicePrimaryCtxRetain, (void **context, int device))                                                          \
    X(cuCtxSetCurrent, (void *context))                                                                                \
    X(cuStreamCreate, (shmemx_stream_t * stream, unsigned flags))                                                      \
    X(cuStreamSynchronize, (shmemx_stream_t stream))                                                                   \
    X(cuMemAlloc_v2, (cuda_address_t * address, size_t size))                                                          \
    X(cuMemsetD8_v2, (cuda_address_t address, unsigned char value, size_t size))                                       \
    X(cuMemcpyDtoDAsync_v2, (cuda_address_t dest, cuda_address_t source, size_t size, shmemx_stream_t stream))

static struct {
#define FIELD(symbol, parameters) int(*symbol) parameters;
    CUDA_CALLS(FIELD)
} cuda;

static shmemx_stream_t stream;
static char *map, *mine, *theirs;
static uint64_t *heap_words;
static size_t size;
static int me, peer;

static bool open_device(int index)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    cuda_address_t address;
    bool complete = library && index >= 0;
    int device;
#define LOAD(symbol, parameters) complete = complete && (*(void **)&cuda.symbol = dlsym(library, #symbol));
    CUDA_CALLS(LOAD)
    if (!complete || cuda.cuInit(0) || cuda.cuDeviceGet(&device, index) ||
        cuda.cuDevicePrimaryCtxRetain(&context, device) || cuda.cuCtxSetCurrent(context) ||
        cuda.cuStreamCreate(&stream, 1) || cuda.cuMemAlloc_v2(&address, BYTES) || cuda.cuMemsetD8_v2(address, 0, BYTES))
        return false;
    mine = (char *)address;
    return true;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void finish(void)
{
    cuda.cuStreamSynchronize(stream);
}

/* Times the call alone, the call with its completion, and each of many in a row. */
static void measure(const char *what, void (*call)(void))
{
    static double enqueued[REPEATS], completed[REPEATS], in_a_row[REPEATS / 10];
    for (int i = -10; i < REPEATS; i++) {
        double start = now();
        call();
        double after = now();
        finish();
        if (i >= 0) {
            enqueued[i] = after - start;
            completed[i] = now() - start;
        }
    }
    for (int i = 0; i < REPEATS / 10; i++) {
        double start = now();
        for (int j = 0; j < IN_A_ROW; j++)
            call();
        finish();
        in_a_row[i] = (now() - start) / IN_A_ROW;
    }
    qsort(enqueued, REPEATS, sizeof(double), compare);
    qsort(completed, REPEATS, sizeof(double), compare);
    qsort(in_a_row, REPEATS / 10, sizeof(double), compare);
    if (me == 0)
        printf("%-44s %9zu %9.2f %9.2f %9.2f\n", what, size, enqueued[REPEATS / 2], completed[REPEATS / 2],
               in_a_row[REPEATS / 20]);
    fflush(stdout);
}

static void raw(void)
{
    cuda.cuMemcpyDtoDAsync_v2((cuda_address_t)theirs + DATA, (cuda_address_t)mine + DATA, size, stream);
}

static void put(void)
{
    shmemx_putmem_on_stream(map + DATA, map + DATA, size, peer, stream);
}

static void get(void)
{
    shmemx_getmem_on_stream(map + DATA, map + DATA, size, peer, stream);
}

static void put_signal(void)
{
    shmemx_putmem_signal_on_stream(map + DATA, map + DATA, size, (uint64_t *)map, 1, SHMEM_SIGNAL_SET, peer, stream);
}

static void put_signal_heap(void)
{
    shmemx_putmem_signal_on_stream(map + DATA, map + DATA, size, heap_words, 1, SHMEM_SIGNAL_SET, peer, stream);
}

static void signal_add(void)
{
    shmemx_signal_op_on_stream((uint64_t *)map, 1, SHMEM_SIGNAL_ADD, peer, stream);
}

static void barrier(void)
{
    shmemx_barrier_all_on_stream(stream);
}

static void host_barrier(void)
{
    shmem_barrier_all();
}

/* A signal there and back, all of it enqueued beforehand. */
static uint64_t *pong_word;
static uint64_t pong_number;

static void pong(void)
{
    pong_number++;
    if (me == 0)
        shmemx_signal_op_on_stream(pong_word, pong_number, SHMEM_SIGNAL_SET, peer, stream);
    shmemx_signal_wait_until_on_stream(pong_word, SHMEM_CMP_GE, pong_number, stream);
    if (me)
        shmemx_signal_op_on_stream(pong_word, pong_number, SHMEM_SIGNAL_SET, peer, stream);
}

static void measure_pair(const char *what, void (*call)(void))
{
    shmem_barrier_all();
    measure(what, call);
    shmem_barrier_all();
}

static void one_sided(size_t largest)
{
    static const size_t sizes[] = {8, 16 << 10, 64 << 10, 1 << 20, 32 << 20};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= largest; i++) {
        size = sizes[i];
        if (theirs)
            measure("cuMemcpyDtoDAsync to the peer", raw);
        measure("shmemx_putmem_on_stream", put);
        measure("shmemx_getmem_on_stream", get);
        measure("shmemx_putmem_signal_on_stream, GPU word", put_signal);
        measure("shmemx_putmem_signal_on_stream, heap word", put_signal_heap);
    }
    size = 0;
    measure("shmemx_signal_op_on_stream, add, GPU word", signal_add);
}

int main(int argc, char **argv)
{
    static int absent;
    shmem_init();
    me = shmem_my_pe();
    peer = me ? 0 : shmem_n_pes() - 1;
    if (!open_device(shmemx_my_device(OSHM_MEMTYPE_CUDA)))
        for (int pe = 0; pe < shmem_n_pes(); pe++)
            shmem_int_p(&absent, 1, pe);
    shmem_barrier_all();
    if (absent) {
        shmem_finalize();
        return 77;
    }
    map = shmmap(mine, BYTES, OSHM_MEMTYPE_CUDA);
    heap_words = shmem_calloc(2, sizeof *heap_words);
    theirs = shmem_ptr(map, peer);
    if (me == 0)
        printf("# route %s\n%-44s %9s %9s %9s %9s\n", shmemx_route(map, peer), "# us", "bytes", "call", "complete",
               "in a row");
    shmem_barrier_all();
    if (me == 0)
        one_sided(argc > 1 ? strtoul(argv[1], NULL, 0) : BYTES);
    if (shmem_n_pes() == 2) {
        pong_word = (uint64_t *)map + 1;
        measure_pair("signal there and back, GPU words", pong);
        pong_word = heap_words + 1;
        measure_pair("signal there and back, heap words", pong);
    }
    measure_pair("shmemx_barrier_all_on_stream", barrier);
    measure_pair("shmem_barrier_all (CPU)", host_barrier);
    shmumap(map);
    shmem_finalize();
    return 0;
}
