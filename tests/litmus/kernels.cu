// SPDX-License-Identifier: BSD-3-Clause
//
// Litmus tests (litmus.h) whose issuers are kernels of a GPU, by threads, warps and blocks, with each other, with a thread
// of the host and with a stream; over each pair of: memory of cudaMalloc, memory of the default pool, which the agent
// serves, and the heap. gpu-check runs it. The argument is how many tries each case has (10000), a tenth of them where the
// agent or the host takes part.
#include <shmemx.h>
#include <shmemx_device.h>

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

enum { TRIES = 128, THREADS = 128, X_STRIDE = 20480, OBJECTS = 3 };
enum { DATA_BYTES = TRIES * X_STRIDE, WORDS_AT = DATA_BYTES, WORK_AT = WORDS_AT + TRIES * 8, WORK_BYTES = 4096 };
enum { OBJECT_BYTES = WORK_AT + WORK_BYTES };

enum way { PUT_FENCE_P, NBI_QUIET_ATOMIC, PUT_SIGNAL_SET, NBI_SIGNAL_ADD, WITH_SIGNAL, BY_BARRIER, SB, LB, CO, WAYS };
static const char *const way_names[WAYS] = {
    "MP put; fence; p", "MP put_nbi; quiet; atomic_set", "MP put; signal_set",  "MP put_nbi; signal_add",
    "MP put_signal",    "MP put_nbi; barrier",           "SB put; quiet; read", "LB read; put",
    "CO put; fence; p"};
enum scope { THREAD, WARP, BLOCK, HOST, STREAM, HOST_READS, SCOPES };
static const char *const scope_names[SCOPES] = {"threads",  "warps",    "a block",
                                                "the host", "a stream", "a block, read by the host"};

struct object {
    char *own;       // as kernels address it
    char *symmetric; // as the host does
    shmemx_device_view_t view;
    shmemx_device_team_t team;
};

struct run {
    object x, y;
    unsigned long value; // larger by 1 with each batch
    unsigned long *source, *first, *second;
    unsigned nbytes;
    int to; // the other PE
};

static __device__ unsigned long *data(const run &r, int i)
{
    return reinterpret_cast<unsigned long *>(r.x.own + static_cast<size_t>(i) * X_STRIDE);
}
static __device__ unsigned long *word(const run &r, int i)
{
    return reinterpret_cast<unsigned long *>(r.y.own + WORDS_AT) + i;
}
static __device__ unsigned long look(const unsigned long *p)
{
    return *const_cast<const volatile unsigned long *>(p);
}

template <class GROUP> static __device__ void pass(const GROUP group, const run &r, way how, int i)
{
    const char *source = reinterpret_cast<const char *>(r.source);
    char *x = reinterpret_cast<char *>(data(r, i));
    if (how == WITH_SIGNAL) {
        shmemx_device_put_signal_nbi(group, r.x.view, x, source, r.nbytes, r.y.view, word(r, i), r.value,
                                     SHMEM_SIGNAL_SET, r.to);
        return;
    }
    if (how == NBI_QUIET_ATOMIC || how == NBI_SIGNAL_ADD)
        shmemx_device_put_nbi(group, r.x.view, x, source, r.nbytes, r.to);
    else
        shmemx_device_put(group, r.x.view, x, source, r.nbytes, r.to);
    if (how == PUT_FENCE_P)
        shmemx_device_fence(group, r.y.view);
    else if (how == NBI_QUIET_ATOMIC)
        shmemx_device_quiet(group, r.y.view);
    else
        group.sync();
    if (group.rank())
        return;
    if (how == PUT_FENCE_P)
        shmemx_device_p(r.y.view, word(r, i), r.value, r.to);
    else if (how == NBI_QUIET_ATOMIC)
        shmemx_device_atomic_set(r.y.view, word(r, i), r.value, r.to);
    else if (how == PUT_SIGNAL_SET)
        shmemx_device_signal_set(r.y.view, word(r, i), r.value, r.to);
    else
        shmemx_device_signal_add(r.y.view, word(r, i), 1, r.to);
}

template <class GROUP> static __device__ void receive(const GROUP group, const run &r, int i)
{
    shmemx_device_wait_until(group, r.y.view, word(r, i), SHMEM_CMP_GE, r.value);
    if (group.rank() == 0)
        r.first[i] = look(data(r, i));
    if (group.rank() == group.size() - 1)
        r.second[i] = look(data(r, i) + r.nbytes / 8 - 1);
}

// Both PEs: x and y are each written by one of them, and read by the other one in its own copy.
static __device__ void exchange(const run &r, way how, int i)
{
    const bool is_first = r.x.view.pe < r.to;
    const object &to = is_first ? r.x : r.y;
    unsigned long *there = is_first ? data(r, i) : word(r, i), *here = is_first ? word(r, i) : data(r, i);
    const shmemx_device_thread_t thread;
    if (how == LB)
        r.first[i] = look(here);
    shmemx_device_p(to.view, there, r.value, r.to);
    if (how == SB) {
        shmemx_device_quiet(thread, is_first ? r.y.view : r.x.view);
        r.first[i] = look(here);
    }
}

// Two values, and who reads them meanwhile.
static __device__ void change(const run &r, int i)
{
    if (r.x.view.pe > r.to) {
        r.first[i] = look(data(r, i));
        r.second[i] = look(data(r, i));
        return;
    }
    shmemx_device_p(r.x.view, data(r, i), r.value - 1, r.to);
    shmemx_device_fence(shmemx_device_thread_t(), r.y.view);
    shmemx_device_p(r.x.view, data(r, i), r.value, r.to);
}

template <class GROUP>
static __device__ void go_through(const GROUP group, const run &r, way how, unsigned begin, unsigned step)
{
    for (unsigned i = begin; i < TRIES; i += step)
        if (r.x.view.pe < r.to)
            pass(group, r, how, static_cast<int>(i));
        else
            receive(group, r, static_cast<int>(i));
}

static __device__ void meet(const run &r)
{
    const shmemx_device_block_t block;
    for (int i = 0; i < TRIES; i += 16) {
        if (r.x.view.pe < r.to)
            for (int k = i; k < i + 16; k++)
                shmemx_device_putmem_nbi(block, r.x.view, data(r, k), r.source, r.nbytes, r.to);
        shmemx_device_barrier(block, r.y.team);
        for (int k = i; k < i + 16 && block.rank() == 0; k++) {
            r.first[k] = look(data(r, k));
            r.second[k] = look(data(r, k) + r.nbytes / 8 - 1);
        }
    }
}

__global__ void litmus(run r, way how, scope by)
{
    const shmemx_device_block_t block;
    for (unsigned i = threadIdx.x; i < X_STRIDE / 8; i += blockDim.x)
        r.source[i] = r.value;
    block.sync();
    if (how == BY_BARRIER)
        meet(r);
    else if (how == SB || how == LB)
        exchange(r, how, static_cast<int>(threadIdx.x));
    else if (how == CO)
        change(r, static_cast<int>(threadIdx.x));
    else if (by == THREAD)
        go_through(shmemx_device_thread_t(), r, how, threadIdx.x, THREADS);
    else if (by == WARP)
        go_through(shmemx_device_warp_t(), r, how, threadIdx.x / 32, THREADS / 32);
    else
        go_through(block, r, how, 0, 1);
    block.sync();
    shmemx_device_quiet(block, r.y.view);
}

// A store of the program's own, at the other PE; and a look after the stream's barrier.
__global__ void store_there(run r)
{
    const unsigned i = threadIdx.x;
    *reinterpret_cast<unsigned long *>(reinterpret_cast<char *>(data(r, static_cast<int>(i))) +
                                       r.x.view.peers[r.to - r.x.view.first_pe].distance) = r.value;
}
__global__ void look_here(run r)
{
    r.first[threadIdx.x] = r.second[threadIdx.x] = look(data(r, static_cast<int>(threadIdx.x)));
}

// ---- The host and a stream as the one who writes, the host as the one who reads -------------------------------------

static uint64_t *host_word(const run &r, int i)
{
    return reinterpret_cast<uint64_t *>(r.y.symmetric + WORDS_AT) + i;
}
static char *host_data(const run &r, int i)
{
    return r.x.symmetric + static_cast<size_t>(i) * X_STRIDE;
}
static bool host_has(way how)
{
    return how == PUT_FENCE_P || how == NBI_QUIET_ATOMIC || how == WITH_SIGNAL;
}

static void host_pass(const run &r, way how, const unsigned long *source)
{
    for (int i = 0; i < TRIES; i++) {
        if (how == WITH_SIGNAL) {
            shmem_putmem_signal_nbi(host_data(r, i), source, r.nbytes, host_word(r, i), r.value, SHMEM_SIGNAL_SET,
                                    r.to);
            continue;
        }
        shmem_putmem_nbi(host_data(r, i), source, r.nbytes, r.to);
        if (how == PUT_FENCE_P) {
            shmem_fence();
            shmem_uint64_p(host_word(r, i), r.value, r.to);
        } else {
            shmem_quiet();
            shmem_uint64_atomic_set(host_word(r, i), r.value, r.to);
        }
    }
    shmem_quiet();
}

static void stream_pass(const run &r, way how, const unsigned long *source)
{
    for (int i = 0; i < TRIES; i++) {
        if (how == WITH_SIGNAL) {
            shmemx_putmem_signal_on_stream(host_data(r, i), source, r.nbytes, host_word(r, i), r.value,
                                           SHMEM_SIGNAL_SET, r.to, 0);
            continue;
        }
        shmemx_putmem_on_stream(host_data(r, i), source, r.nbytes, r.to, 0);
        if (how == PUT_FENCE_P) {
            shmemx_fence_on_stream(0);
            shmemx_uint64_p_on_stream(host_word(r, i), r.value, r.to, 0);
        } else {
            shmemx_quiet_on_stream(0);
            shmemx_signal_op_on_stream(host_word(r, i), r.value, SHMEM_SIGNAL_SET, r.to, 0);
        }
    }
    shmemx_quiet_on_stream(0);
}

static void host_receive(const run &r)
{
    for (int i = 0; i < TRIES; i++) {
        shmem_uint64_wait_until(host_word(r, i), SHMEM_CMP_GE, r.value);
        r.first[i] = shmem_uint64_g(reinterpret_cast<uint64_t *>(host_data(r, i)), shmem_my_pe());
        r.second[i] = shmem_uint64_g(reinterpret_cast<uint64_t *>(host_data(r, i)) + r.nbytes / 8 - 1, shmem_my_pe());
    }
}

static void check(cudaError_t rc, const char *what)
{
    if (rc == cudaSuccess)
        return;
    fprintf(stderr, "PE %d: %s: %s\n", shmem_my_pe(), what, cudaGetErrorString(rc));
    shmem_global_exit(1);
}

static unsigned long *seen; // symmetric, on the heap: first, second, of both PEs

static long count(const run &r, way how)
{
    const int me = shmem_my_pe();
    const unsigned long *first = seen, *second = seen + TRIES;
    unsigned long theirs[2 * TRIES];
    long hits = 0;
    shmem_barrier_all();
    shmem_getmem(theirs, seen, sizeof theirs, r.to);
    for (int i = 0; i < TRIES && me == 1; i++)
        if (how == SB)
            hits += first[i] < r.value && theirs[i] < r.value;
        else if (how == LB)
            hits += first[i] == r.value && theirs[i] == r.value;
        else if (how == CO)
            hits += second[i] < first[i];
        else
            hits += first[i] < r.value || second[i] < r.value;
    shmem_barrier_all();
    return hits;
}

static void start(const run &r, way how, scope by)
{
    static unsigned long *source; // page-locked
    if (!source)
        check(cudaMallocHost(&source, X_STRIDE), "cudaMallocHost");
    for (int i = 0; i < X_STRIDE / 8; i++)
        source[i] = r.value;
    if (by == HOST && shmem_my_pe() == 0)
        host_pass(r, how, source);
    else if (by == STREAM && shmem_my_pe() == 0)
        stream_pass(r, how, source);
    else if (by == HOST_READS && shmem_my_pe() == 1)
        host_receive(r);
    else
        litmus<<<1, THREADS>>>(r, how, by);
}

// Batches of one case; the result is on PE 1.
static long tries(run r, way how, scope by, long n, unsigned long *value)
{
    long hits = 0;
    for (long done = 0; done < n; done += TRIES) {
        r.value = *value += how == CO ? 2 : 1;
        check(cudaDeviceSynchronize(), "a batch");
        shmem_barrier_all();
        start(r, how, by);
        check(cudaDeviceSynchronize(), way_names[how]);
        hits += count(r, how);
    }
    return hits;
}

static long stream_tries(run r, long n, unsigned long *value)
{
    long hits = 0;
    for (long done = 0; done < n; done += TRIES) {
        r.value = ++*value;
        store_there<<<1, TRIES>>>(r);
        shmemx_team_barrier_on_stream(SHMEM_TEAM_WORLD, 0);
        look_here<<<1, TRIES>>>(r);
        check(cudaDeviceSynchronize(), "a barrier in a stream");
        hits += count(r, BY_BARRIER);
    }
    return hits;
}

static long said, forbidden; // on PE 0

// Of a pair of objects by each issuer: kernels that share a program count as a block, and streams have a row of their own.
enum { STREAMS = SCOPES };
static long pair_tries[OBJECTS * OBJECTS][SCOPES + 1], pair_hits[OBJECTS * OBJECTS][SCOPES + 1];
static const char *const object_names[OBJECTS] = {"cudaMalloc", "pool", "heap"};

static void say(const char *way, unsigned nbytes, int xy, int issuer, const char *by, long hits, long n)
{
    const char *x = object_names[xy % OBJECTS], *y = object_names[xy / OBJECTS];
    static long all; // symmetric
    all = 0;
    shmem_barrier_all();
    if (shmem_my_pe() == 1)
        shmem_long_p(&all, hits, 0);
    shmem_barrier_all();
    said++;
    forbidden += all;
    pair_tries[xy][issuer] += n;
    pair_hits[xy][issuer] += all;
    if (shmem_my_pe() == 0)
        printf("%s%s, %u B; x: %s, y: %s; by %s: %ld of %ld\n", all ? "FORBIDDEN: " : "", way, nbytes, x, y, by, all,
               n);
}

static void report_pairs()
{
    printf("%-52s %10s %10s\n", "objects and issuers", "tries", "forbidden");
    for (int xy = 0; xy < OBJECTS * OBJECTS; xy++)
        for (int by = 0; by <= STREAMS; by++)
            if (pair_tries[xy][by])
                printf("%-10s %-10s %-30s %10ld %10ld\n", object_names[xy % OBJECTS], object_names[xy / OBJECTS],
                       by == STREAMS ? "streams" : scope_names[by], pair_tries[xy][by], pair_hits[xy][by]);
}

int main(int argc, char **argv)
{
    const unsigned sizes[] = {8, 4096, 20000};
    const long n = argc > 1 ? atol(argv[1]) : 10000;
    int n_devices = 0;
    shmem_init();
    if (cudaGetDeviceCount(&n_devices) != cudaSuccess || !n_devices || shmem_n_pes() != 2) {
        fprintf(stderr, "no CUDA device, or not two PEs\n");
        shmem_finalize();
        return 77;
    }
    check(cudaSetDevice(shmemx_my_device(OSHM_MEMTYPE_CUDA)), "cudaSetDevice");
    object objects[OBJECTS];
    void *memory[OBJECTS], *symmetric[OBJECTS];
    check(cudaMalloc(&memory[0], OBJECT_BYTES), "cudaMalloc");
    check(cudaMallocAsync(&memory[1], OBJECT_BYTES, 0), "cudaMallocAsync");
    memory[2] = symmetric[2] = shmem_align(4096, OBJECT_BYTES);
    memset(memory[2], 0, OBJECT_BYTES);
    check(cudaMemset(memory[0], 0, OBJECT_BYTES), "cudaMemset");
    check(cudaMemset(memory[1], 0, OBJECT_BYTES), "cudaMemset");
    check(cudaDeviceSynchronize(), "memory");
    seen = static_cast<unsigned long *>(shmem_calloc(2 * TRIES, sizeof *seen));
    bool works = shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA);
    for (int i = 0; i < OBJECTS; i++) {
        if (i < 2)
            symmetric[i] = shmmap(memory[i], OBJECT_BYTES, OSHM_MEMTYPE_CUDA);
        objects[i].own = static_cast<char *>(memory[i]);
        objects[i].symmetric = static_cast<char *>(symmetric[i]);
        works = works && symmetric[i] && !shmemx_device_view(symmetric[i], &objects[i].view) &&
                !shmemx_device_team_view(SHMEM_TEAM_WORLD, static_cast<char *>(symmetric[i]) + WORK_AT, WORK_BYTES,
                                         &objects[i].team);
    }
    if (!works) {
        fprintf(stderr, "kernels of these PEs cannot wait for each other, or not reach each other\n");
        shmem_finalize();
        return 77;
    }
    run r = run();
    unsigned long value = 0;
    check(cudaMalloc(&r.source, X_STRIDE), "cudaMalloc");
    r.first = seen;
    r.second = seen + TRIES;
    r.to = 1 - shmem_my_pe();
    shmem_barrier_all();
    for (int xy = 0; xy < OBJECTS * OBJECTS; xy++) {
        r.x = objects[xy % OBJECTS];
        r.y = objects[xy / OBJECTS];
        for (int how = 0; how < WAYS; how++)
            for (int by = how < BY_BARRIER ? THREAD : BLOCK; by < (host_has(static_cast<way>(how)) ? SCOPES : HOST);
                 by++)
                for (int size = 0; size < (how < SB ? 3 : 1); size++) {
                    r.nbytes = sizes[size];
                    const bool is_slow = !r.x.view.n_near || !r.y.view.n_near || size == 2 || by >= HOST;
                    const long many = is_slow ? (n + 9) / 10 : n;
                    if (how == NBI_SIGNAL_ADD) // which counts on from the batch before
                        tries(r, WITH_SIGNAL, BLOCK, 1, &value);
                    say(way_names[how], r.nbytes, xy, by, how < BY_BARRIER ? scope_names[by] : "kernels",
                        tries(r, static_cast<way>(how), static_cast<scope>(by), many, &value), many);
                }
        if (r.x.view.n_near) {
            r.nbytes = 8;
            say("MP store; team_barrier in a stream", 8, xy, STREAMS, "streams", stream_tries(r, n, &value), n);
        }
    }
    if (shmem_my_pe() == 0) {
        report_pairs();
        printf("%s: %ld cases\n", forbidden ? "forbidden outcomes were seen" : "ok", said);
    }
    shmem_barrier_all();
    for (int i = 0; i < 2; i++)
        shmumap(symmetric[i]);
    shmem_finalize();
    return forbidden != 0;
}
