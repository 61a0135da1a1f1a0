/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times of collectives on GPU memory, called by the host, in a CUDA stream and in a CUDA graph, beside NCCL's in a stream
 * and in a graph where libnccl.so.2 is found: on plain buffers, and with windows (symmetric memory of ncclMemAlloc that is
 * registered with ncclCommWindowRegister, NCCL 2.27; ncclAlltoAll, 2.28), where it has them. Any number of PEs, each with
 * a GPU. In each of three rounds all of them are measured one after the other; a line has the medians of the rounds, in
 * microseconds for each operation, and 0 for what there is not.
 *
 * Build: oshcc -O2 -o stream_collectives stream_collectives.c -I$CUDA/include -L$CUDA/lib64 -lcudart -ldl
 * Run:   oshrun -n 2 ./stream_collectives [LARGEST [FIRST]]      sizes are those of what a PE contributes, in bytes
 *        (alltoall: all of its blocks together)
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <shmemx.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIGNALS = 2 << 20, ROUNDS = 3, WAYS = 7, IN_A_GRAPH = 20, MOST_PES = 64 };
static const char *const ways[WAYS] = {"host",       "stream",      "graph",      "NCCL stream",
                                       "NCCL graph", "windows st.", "windows gr."};

/* put_signal: half the time in which the data go to the last PE and come back; others have nothing to do. */
enum verb { BARRIER, PUT_SIGNAL, SUM, BROADCAST, FCOLLECT, ALLTOALL, VERBS };
static const char *const verbs[VERBS] = {"barrier", "put_signal", "sum_reduce", "broadcast", "fcollect", "alltoall"};

static cudaStream_t stream;
static float *source, *dest; /* mapped */
static uint64_t *arrived;    /* the same */
static float *raw_source, *raw_dest;
static void *window_source, *window_dest; /* of NCCL; NULL: it has none */
static int me, n;

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "PE %d: %s: %s\n", me, what, cudaGetErrorString(error));
    shmem_global_exit(1);
}
#define CUDA(call) check(call, #call)

/* ---- NCCL -------------------------------------------------------------------------------------------------------- */

/* As in nccl.h, which machines with PyTorch do not have. */
typedef struct {
    char internal[128];
} nccl_id_t;
enum { NCCL_INT8 = 0, NCCL_FLOAT = 7, NCCL_SUM = 0, NCCL_SYMMETRIC = 1 };
static struct {
    int (*GetUniqueId)(nccl_id_t *id);
    int (*CommInitRank)(void **comm, int n, nccl_id_t id, int rank);
    int (*AllReduce)(const void *from, void *to, size_t count, int type, int op, void *comm, cudaStream_t stream);
    int (*Broadcast)(const void *from, void *to, size_t count, int type, int root, void *comm, cudaStream_t stream);
    int (*AllGather)(const void *from, void *to, size_t count, int type, void *comm, cudaStream_t stream);
    int (*Send)(const void *from, size_t count, int type, int peer, void *comm, cudaStream_t stream);
    int (*Recv)(void *to, size_t count, int type, int peer, void *comm, cudaStream_t stream);
    int (*GetVersion)(int *version);
    int (*GroupStart)(void);
    int (*GroupEnd)(void);

    /* Not in all versions. */
    int (*AlltoAll)(const void *from, void *to, size_t count, int type, void *comm, cudaStream_t stream);
    int (*MemAlloc)(void **address, size_t size);
    int (*CommWindowRegister)(void *comm, void *address, size_t size, void **window, int flags);
} nccl;
static void *comm; /* NULL: there is no NCCL */

static void load_nccl(void)
{
    static nccl_id_t id; /* symmetric */
    static int absent;
    const char *name = getenv("NCCL_LIBRARY");
    void *library = dlopen(name && *name ? name : "libnccl.so.2", RTLD_NOW);
#define LOAD(name) *(void **)&nccl.name = library ? dlsym(library, "nccl" #name) : NULL
    LOAD(GetUniqueId);
    LOAD(CommInitRank);
    LOAD(AllReduce);
    LOAD(Broadcast);
    LOAD(AllGather);
    LOAD(Send);
    LOAD(Recv);
    LOAD(GroupStart);
    LOAD(GroupEnd);
    LOAD(GetVersion);
    LOAD(AlltoAll);
    LOAD(MemAlloc);
    LOAD(CommWindowRegister);
    for (int pe = 0; !library && pe < n; pe++)
        shmem_int_p(&absent, 1, pe);
    shmem_barrier_all();
    if (absent)
        return;
    if (me == 0)
        nccl.GetUniqueId(&id);
    shmem_barrier_all();
    if (me)
        shmem_getmem(&id, &id, sizeof id, 0);
    if (nccl.CommInitRank(&comm, n, id, me))
        comm = NULL;
}

/* A buffer of NCCL's own that is registered with the communicator, by all PEs together; NULL if one of them cannot. */
static void *open_window(size_t size)
{
    static int refused; /* symmetric */
    void *address = NULL, *window = NULL;
    refused = 0;
    shmem_barrier_all();
    if (!nccl.MemAlloc || !nccl.CommWindowRegister || nccl.MemAlloc(&address, size))
        for (int pe = 0; pe < n; pe++)
            shmem_int_p(&refused, 1, pe);
    shmem_barrier_all();
    if (refused || nccl.CommWindowRegister(comm, address, size, &window, NCCL_SYMMETRIC))
        return NULL;
    CUDA(cudaMemset(address, 0, size));
    return address;
}

static void open_windows(size_t largest)
{
    window_source = comm ? open_window(largest) : NULL;
    window_dest = window_source ? open_window(largest * (size_t)n) : NULL;
}

static void send_to_each(const void *from, void *to, size_t block)
{
    nccl.GroupStart();
    for (int pe = 0; pe < n; pe++) {
        nccl.Send((const char *)from + (size_t)pe * block, block, NCCL_INT8, pe, comm, stream);
        nccl.Recv((char *)to + (size_t)pe * block, block, NCCL_INT8, pe, comm, stream);
    }
    nccl.GroupEnd();
}

static void call_nccl(enum verb verb, const void *from, void *to, size_t nbytes)
{
    switch (verb) {
    case BARRIER:
        nccl.AllReduce(from, to, 1, NCCL_FLOAT, NCCL_SUM, comm, stream);
        break;
    case PUT_SIGNAL:
        break;
    case SUM:
        nccl.AllReduce(from, to, nbytes / 4, NCCL_FLOAT, NCCL_SUM, comm, stream);
        break;
    case BROADCAST:
        nccl.Broadcast(from, to, nbytes, NCCL_INT8, 0, comm, stream);
        break;
    case FCOLLECT:
        nccl.AllGather(from, to, nbytes, NCCL_INT8, comm, stream);
        break;
    default:
        if (nccl.AlltoAll && from == window_source)
            nccl.AlltoAll(from, to, nbytes / (size_t)n, NCCL_INT8, comm, stream);
        else
            send_to_each(from, to, nbytes / (size_t)n);
    }
}

static void by_nccl(enum verb verb, size_t nbytes)
{
    call_nccl(verb, raw_source, raw_dest, nbytes);
}

static void by_nccl_windows(enum verb verb, size_t nbytes)
{
    call_nccl(verb, window_source, window_dest, nbytes);
}

/* ---- MapSHMEM ---------------------------------------------------------------------------------------------------- */

static int partner(void)
{
    return me == 0 ? n - 1 : me == n - 1 ? 0 : -1;
}

static void ping_pong_by_host(size_t nbytes)
{
    if (me)
        shmem_signal_wait_until(arrived, SHMEM_CMP_EQ, 1);
    if (me)
        shmem_signal_set(arrived, 0, me);
    shmem_putmem_signal(dest, source, nbytes, arrived, 1, SHMEM_SIGNAL_SET, partner());
    if (me)
        return;
    shmem_signal_wait_until(arrived, SHMEM_CMP_EQ, 1);
    shmem_signal_set(arrived, 0, me);
}

static void ping_pong_by_stream(size_t nbytes)
{
    if (me)
        shmemx_signal_wait_until_set_on_stream(arrived, SHMEM_CMP_EQ, 1, 0, stream);
    shmemx_putmem_signal_on_stream(dest, source, nbytes, arrived, 1, SHMEM_SIGNAL_SET, partner(), stream);
    if (!me)
        shmemx_signal_wait_until_set_on_stream(arrived, SHMEM_CMP_EQ, 1, 0, stream);
}

static void by_host(enum verb verb, size_t nbytes)
{
    const shmem_team_t team = SHMEM_TEAM_WORLD;
    switch (verb) {
    case BARRIER:
        shmem_barrier_all();
        break;
    case PUT_SIGNAL:
        if (partner() >= 0)
            ping_pong_by_host(nbytes);
        break;
    case SUM:
        shmem_float_sum_reduce(team, dest, source, nbytes / 4);
        break;
    case BROADCAST:
        shmem_broadcastmem(team, dest, source, nbytes, 0);
        break;
    case FCOLLECT:
        shmem_fcollectmem(team, dest, source, nbytes);
        break;
    default:
        shmem_alltoallmem(team, dest, source, nbytes / (size_t)n);
    }
}

static void by_stream(enum verb verb, size_t nbytes)
{
    const shmem_team_t team = SHMEM_TEAM_WORLD;
    switch (verb) {
    case BARRIER:
        shmemx_team_barrier_on_stream(team, stream);
        break;
    case PUT_SIGNAL:
        if (partner() >= 0)
            ping_pong_by_stream(nbytes);
        break;
    case SUM:
        shmemx_float_sum_reduce_on_stream(team, dest, source, nbytes / 4, stream);
        break;
    case BROADCAST:
        shmemx_broadcastmem_on_stream(team, dest, source, nbytes, 0, stream);
        break;
    case FCOLLECT:
        shmemx_fcollectmem_on_stream(team, dest, source, nbytes, stream);
        break;
    default:
        shmemx_alltoallmem_on_stream(team, dest, source, nbytes / (size_t)n, stream);
    }
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static cudaGraphExec_t capture(void (*call)(enum verb, size_t), enum verb verb, size_t nbytes)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < IN_A_GRAPH; i++)
        call(verb, nbytes);
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    return exec;
}

static double time_graph(void (*call)(enum verb, size_t), enum verb verb, size_t nbytes, int count)
{
    cudaGraphExec_t exec = capture(call, verb, nbytes);
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    shmem_barrier_all();
    double begin = now();
    for (int i = 0; i < count; i += IN_A_GRAPH)
        CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    double time = (now() - begin) / ((count + IN_A_GRAPH - 1) / IN_A_GRAPH * IN_A_GRAPH);
    CUDA(cudaGraphExecDestroy(exec));
    return time;
}

static double time_calls(void (*call)(enum verb, size_t), enum verb verb, size_t nbytes, int count)
{
    for (int i = 0; i < 3; i++)
        call(verb, nbytes);
    CUDA(cudaStreamSynchronize(stream));
    shmem_barrier_all();
    double begin = now();
    for (int i = 0; i < count; i++)
        call(verb, nbytes);
    CUDA(cudaStreamSynchronize(stream));
    return (now() - begin) / count;
}

static double measure(int way, enum verb verb, size_t nbytes, int count)
{
    if (way >= 3 && (!comm || verb == PUT_SIGNAL || (way >= 5 && !window_dest)))
        return 0;
    switch (way) {
    case 0:
        return time_calls(by_host, verb, nbytes, count);
    case 1:
        return time_calls(by_stream, verb, nbytes, count);
    case 2:
        return time_graph(by_stream, verb, nbytes, count);
    case 3:
        return time_calls(by_nccl, verb, nbytes, count);
    case 4:
        return time_graph(by_nccl, verb, nbytes, count);
    case 5:
        return time_calls(by_nccl_windows, verb, nbytes, count);
    default:
        return time_graph(by_nccl_windows, verb, nbytes, count);
    }
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_line(enum verb verb, size_t nbytes, bool has_graphs)
{
    const int count = nbytes <= 65536 ? 200 : nbytes <= 4 << 20 ? 40 : 20;
    double time[WAYS][ROUNDS];
    for (int round = 0; round < ROUNDS; round++)
        for (int way = 0; way < WAYS; way++)
            time[way][round] =
                way == 2 && !has_graphs ? 0 : measure(way, verb, nbytes, count) / (verb == PUT_SIGNAL ? 2 : 1);
    if (me)
        return;
    printf("%-10s %10zu", verbs[verb], nbytes);
    for (int way = 0; way < WAYS; way++) {
        qsort(time[way], ROUNDS, sizeof time[way][0], compare);
        printf(" %11.2f", time[way][ROUNDS / 2]);
    }
    printf("\n");
    fflush(stdout);
}

/* Graphs need direct routes to all PEs, and kernels that may wait. */
static bool can_capture(void)
{
    bool can = n > 1 && n <= 16 && shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA);
    for (int pe = 0; pe < n && can; pe++)
        can = !strcmp(shmemx_route(dest, pe), "cuda-ipc") || !strcmp(shmemx_route(dest, pe), "local");
    return can;
}

int main(int argc, char **argv)
{
    const size_t largest = argc > 1 ? strtoull(argv[1], NULL, 0) : 256 << 20;
    const size_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 8;
    void *raw_arrived;
    int version = 0;
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    CUDA(cudaSetDevice(shmemx_my_device(OSHM_MEMTYPE_CUDA)));
    CUDA(cudaMalloc((void **)&raw_source, largest));
    CUDA(cudaMalloc((void **)&raw_dest, largest * (size_t)n));
    CUDA(cudaMemset(raw_source, 0, largest));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    source = shmmap(raw_source, largest, OSHM_MEMTYPE_CUDA);
    dest = shmmap(raw_dest, largest * (size_t)n, OSHM_MEMTYPE_CUDA);
    CUDA(cudaMalloc((void **)&raw_arrived, SIGNALS));
    CUDA(cudaMemset(raw_arrived, 0, SIGNALS));
    arrived = shmmap(raw_arrived, SIGNALS, OSHM_MEMTYPE_CUDA);
    if (!source || !dest || !arrived)
        shmem_global_exit(1);
    load_nccl();
    open_windows(largest);
    if (comm)
        nccl.GetVersion(&version);
    const bool has_graphs = can_capture();
    if (me == 0) {
        printf("%d PEs, microseconds; NCCL %d\n%-10s %10s", n, version, "", "bytes");
        for (int way = 0; way < WAYS; way++)
            printf(" %11s", ways[way]);
        printf("\n");
    }
    print_line(BARRIER, 0, has_graphs);
    for (int verb = PUT_SIGNAL; verb < VERBS; verb++)
        for (size_t nbytes = first; nbytes <= largest; nbytes *= 8)
            if ((nbytes >= 8 * (size_t)n || verb != ALLTOALL) && (n > 1 || verb != PUT_SIGNAL))
                print_line((enum verb)verb, nbytes, has_graphs);
    shmumap(arrived);
    shmumap(dest);
    shmumap(source);
    shmem_finalize();
    return 0;
}
