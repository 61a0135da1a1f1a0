/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives that are captured into a CUDA graph, which is launched many times, between others of the same team, and two
 * of which follow each other. Skipped where not all GPUs reach each other, or kernels may not wait.
 */
#include "map_check.h"
#include "check.h"
#include "support/cuda_driver.h"

#include <dlfcn.h>
#include <shmemx.h>

enum { LAUNCHES = 30, GRAPHS = 2, MEMBERS = 16, SHORT = 5, LONG = 150000, AREA = MEMBERS * LONG * 4, AREAS = 11 };

#define MORE_FUNCTIONS(X)                                                                                              \
    X(cuStreamBeginCapture)                                                                                            \
    X(cuStreamEndCapture)                                                                                              \
    X(cuGraphInstantiateWithFlags)                                                                                     \
    X(cuGraphLaunch)
#define STRING(_text) #_text
#define LOAD(_name)                                                                                                    \
    *(void **)&more._name = dlsym(library, STRING(_name));                                                             \
    CHECK(more._name);

static struct {
    MORE_FUNCTIONS(CUDA_FIELD)
} more;

#define TRY(_call)                                                                                                     \
    do {                                                                                                               \
        int _error = (int)(_call);                                                                                     \
        CHECK_THAT(_error == 0, "%s: CUDA error %d", #_call, _error);                                                  \
    } while (0)

static struct device *device;
static struct queue *queue;
static void *stream;
static struct buffer *buffer;
static char *map;
static int me, n;
static uint32_t image[AREA / 4];

static uint32_t *area(int i)
{
    return (uint32_t *)(map + (size_t)i * AREA);
}

/* Source in area 0; a result in each of the others, short ones behind long ones. */
static void enqueue(void)
{
    const shmem_team_t team = SHMEM_TEAM_WORLD;
    shmemx_team_barrier_on_stream(team, stream);
    shmemx_uint32_sum_reduce_on_stream(team, area(1), area(0), LONG, stream);
    shmemx_uint32_sum_reduce_on_stream(team, area(2), area(0), SHORT, stream);
    shmemx_uint32_broadcast_on_stream(team, area(3), area(0), LONG, n - 1, stream);
    shmemx_uint32_fcollect_on_stream(team, area(4), area(0), LONG, stream);
    shmemx_uint32_fcollect_on_stream(team, area(5), area(0), SHORT, stream);
    shmemx_uint32_alltoall_on_stream(team, area(6), area(0), LONG / MEMBERS, stream);
    shmemx_uint32_alltoall_on_stream(team, area(7), area(0), SHORT, stream);
    shmemx_uint32_sum_inscan_on_stream(team, area(8), area(0), LONG, stream);
    shmemx_uint32_collect_on_stream(team, area(9), area(0), SHORT * (size_t)me, stream);
    shmemx_uint32_alltoalls_on_stream(team, area(10), area(0), 3, 2, SHORT, stream);
    shmemx_team_sync_on_stream(team, stream);
}

static uint32_t value(int round, int pe, size_t i)
{
    return (uint32_t)(round * 1000003 + pe * 7919) + (uint32_t)i * 31;
}

static uint32_t sum_until(int round, int last, size_t i)
{
    uint32_t sum = 0;
    for (int pe = 0; pe <= last; pe++)
        sum += value(round, pe, i);
    return sum;
}

static void expect(int round, int result, size_t i, uint32_t expected)
{
    CHECK_THAT(image[i] == expected, "launch %d, result %d: element %zu is %u, not %u", round, result, i, image[i],
               expected);
}

static void read_area(int result)
{
    device_read(device, image, buffer, (size_t)result * AREA, AREA);
}

static void check_results(int round)
{
    const size_t block = LONG / MEMBERS;
    read_area(1);
    for (size_t i = 0; i < LONG; i++)
        expect(round, 1, i, sum_until(round, n - 1, i));
    read_area(2);
    for (size_t i = 0; i < SHORT; i++)
        expect(round, 2, i, sum_until(round, n - 1, i));
    read_area(3);
    for (size_t i = 0; i < LONG; i++)
        expect(round, 3, i, value(round, n - 1, i));
    read_area(4);
    for (size_t i = 0; i < LONG * (size_t)n; i++)
        expect(round, 4, i, value(round, (int)(i / LONG), i % LONG));
    read_area(5);
    for (size_t i = 0; i < SHORT * (size_t)n; i++)
        expect(round, 5, i, value(round, (int)(i / SHORT), i % SHORT));
    read_area(6);
    for (size_t i = 0; i < block * (size_t)n; i++)
        expect(round, 6, i, value(round, (int)(i / block), (size_t)me * block + i % block));
    read_area(7);
    for (size_t i = 0; i < SHORT * (size_t)n; i++)
        expect(round, 7, i, value(round, (int)(i / SHORT), (size_t)me * SHORT + i % SHORT));
    read_area(8);
    for (size_t i = 0; i < LONG; i++)
        expect(round, 8, i, sum_until(round, me, i));
    read_area(9);
    for (size_t pe = 0, at = 0; pe < (size_t)n; pe++)
        for (size_t i = 0; i < SHORT * pe; i++)
            expect(round, 9, at++, value(round, (int)pe, i));
    read_area(10);
    for (size_t i = 0; i < SHORT * (size_t)n; i++)
        expect(round, 10, 3 * i, value(round, (int)(i / SHORT), 2 * ((size_t)me * SHORT + i % SHORT)));
}

static void fill(int round)
{
    for (size_t i = 0; i < LONG; i++)
        image[i] = value(round, me, i);
    device_write(device, buffer, 0, image, LONG * 4);
}

static void check_graphs(void)
{
    CUgraph graph;
    CUgraphExec exec[GRAPHS];
    for (int i = 0; i < GRAPHS; i++) {
        TRY(more.cuStreamBeginCapture(stream,
                                      i ? CU_STREAM_CAPTURE_MODE_RELAXED : CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
        enqueue();
        TRY(more.cuStreamEndCapture(stream, &graph));
        TRY(more.cuGraphInstantiateWithFlags(&exec[i], graph, 0));
    }
    for (int round = 0; round < LAUNCHES; round++) {
        fill(round);
        TRY(more.cuGraphLaunch(exec[round % GRAPHS], stream));
        if (round % 3 == 0)
            enqueue(); /* not captured */
        TRY(more.cuGraphLaunch(exec[0], stream));
        device->ops->gpu.finish(queue);
        check_results(round);
        shmem_barrier_all();
    }
}

/* Kernels of all PEs may wait, and all reach each other. */
static bool can_capture(void)
{
    static int others; /* symmetric: some PE cannot */
    const char *route = shmemx_route(map, check_target(1));
    const bool can =
        shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA) && (!strcmp(route, "cuda-ipc") || !strcmp(route, "local"));
    for (int pe = 0; !can && pe < n; pe++)
        shmem_int_p(&others, 1, pe);
    shmem_barrier_all();
    return n > 1 && n <= MEMBERS && !others;
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    device = map_open_device(&device_cuda_ops);
    if (!device) {
        shmem_finalize();
        return CHECK_SKIP;
    }
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    MORE_FUNCTIONS(LOAD)
    TRY(cuda.cuCtxSetCurrent(cuda_device(device)->context));
    queue = device->ops->gpu.queue_open(device);
    stream = device->ops->gpu.queue_object(queue);
    buffer = device_alloc(device, (size_t)AREAS * AREA);
    map = shmmap(buffer, (size_t)AREAS * AREA, OSHM_MEMTYPE_CUDA);
    CHECK_THAT(map, "shmmap: %s", shmemx_strerror());
    if (can_capture())
        check_graphs();
    return check_end();
}
