// SPDX-License-Identifier: BSD-3-Clause
//
// Benchmarks of communication from kernels (shmemx_device.h), between PE 0 and PE 1: latency of put with signal beside a
// hand-written one, bandwidth of put by blocks, rates of p and atomic operations, barrier and sum in a kernel. Without a
// direct route (SHMEM_NODE_SIZE=1): what the agent carries out, beside the same by the host and in streams.
//
//     nvcc -O3 -arch=native -o kernels kernels.cu $(pkg-config --cflags --libs mapshmem) && oshrun -n 2 ./kernels
#include <shmemx_device.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

enum { MOST = 64 << 20, ROUNDS = 5, WORDS = 132 * 256, SLOT = 64 << 10 };

struct memory {
    alignas(16) char data[MOST];
    unsigned long words[WORDS], signals[256];
    alignas(16) char work[SHMEMX_DEVICE_WORK_BYTES(8, SLOT)];
};

// Nanoseconds of a PE's own clock.
__device__ unsigned long now()
{
    unsigned long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

template <class GROUP>
__global__ void ping_pong(memory *own, const char *source, unsigned long n, unsigned long first, int turns,
                          shmemx_device_view_t view, unsigned long *time)
{
    const GROUP group;
    const unsigned long start = now();
    for (int i = 0; i < turns; i++) {
        if (view.pe == 1)
            shmemx_device_signal_wait_until(group, view, own->signals, SHMEM_CMP_GE, first + i);
        shmemx_device_put_signal(group, view, own->data, source, n, own->signals, first + i, SHMEM_SIGNAL_SET,
                                 1 - view.pe);
        if (view.pe == 0)
            shmemx_device_signal_wait_until(group, view, own->signals, SHMEM_CMP_GE, first + i);
    }
    *time = now() - start;
}

// What a program would write by itself, with addresses from shmem_ptr.
__global__ void by_hand(memory *own, memory *other, const char *source, unsigned long n, unsigned long first, int turns,
                        int pe, unsigned long *time)
{
    const unsigned long start = now();
    for (int i = 0; i < turns; i++)
        for (int step = 0; step < 2; step++) {
            if (step == pe) {
                for (unsigned long at = 16 * threadIdx.x; at + 16 <= n; at += 16 * blockDim.x)
                    *(int4 *)(other->data + at) = *(const int4 *)(source + at);
                if (n % 16 && threadIdx.x == 0)
                    *(unsigned long *)other->data = *(const unsigned long *)source;
                __syncthreads();
                if (threadIdx.x == 0)
                    asm volatile("st.release.sys.b64 [%0], %1;" ::"l"(other->signals), "l"(first + i) : "memory");
            } else {
                unsigned long seen = 0;
                while (threadIdx.x == 0 && seen < first + i)
                    asm volatile("ld.acquire.sys.b64 %0, [%1];" : "=l"(seen) : "l"(own->signals) : "memory");
                __syncthreads();
            }
        }
    *time = now() - start;
}

__global__ void put_by_blocks(memory *own, const char *source, unsigned long n, int turns, shmemx_device_view_t view)
{
    const unsigned long part = n / gridDim.x, first = part * blockIdx.x;
    for (int i = 0; i < turns; i++)
        shmemx_device_putmem_nbi(shmemx_device_block_t(), view, own->data + first, source + first, part, 1);
    shmemx_device_quiet(shmemx_device_block_t(), view);
}

enum operation { OPERATION_P, OPERATION_ADD, OPERATION_FETCH_ADD };
template <operation OPERATION> __global__ void many_words(memory *own, int turns, shmemx_device_view_t view)
{
    unsigned long *word = &own->words[blockIdx.x * blockDim.x + threadIdx.x], sum = 0;
    for (int i = 0; i < turns; i++) {
        if (OPERATION == OPERATION_P)
            shmemx_device_p(view, word, static_cast<unsigned long>(i), 1);
        else if (OPERATION == OPERATION_ADD)
            shmemx_device_atomic_add(view, word, 1, 1);
        else
            sum += shmemx_device_atomic_fetch_add(view, word, 1, 1);
    }
    if (sum == ~0ul)
        *word = sum;
}

__global__ void barriers(int turns, shmemx_device_team_t team, unsigned long *time)
{
    const unsigned long start = now();
    for (int i = 0; i < turns; i++)
        shmemx_device_barrier(shmemx_device_block_t(), team);
    *time = now() - start;
}

__global__ void sums(double *data, unsigned long n, int turns, shmemx_device_team_t team, unsigned long *time)
{
    const unsigned long start = now();
    for (int i = 0; i < turns; i++)
        shmemx_device_sum_reduce(shmemx_device_block_t(), team, data, data, n);
    *time = now() - start;
}

// Words by the agent: each thread ends when its own are complete. Those of a warp lie side by side, or all are scattered.
__global__ void many_far_words(memory *own, int turns, bool is_scattered, shmemx_device_view_t view)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned place = is_scattered ? thread * 40503u % (MOST / 8) : thread;
    unsigned long *word = reinterpret_cast<unsigned long *>(own->data) + place;
    for (int i = 0; i < turns; i++)
        shmemx_device_p(view, word, static_cast<unsigned long>(i), 1);
    shmemx_device_quiet(shmemx_device_block_t(), view);
}

// Both PEs send a halo and wait for the other's.
__global__ void halos(memory *own, const char *source, unsigned long n, unsigned long first, int turns,
                      shmemx_device_view_t view, unsigned long *time)
{
    const shmemx_device_block_t block;
    const unsigned long start = now();
    for (int i = 0; i < turns; i++) {
        char *half = own->data + i % 2 * n;
        shmemx_device_put_signal(block, view, half, source, n, own->signals, first + i, SHMEM_SIGNAL_SET, 1 - view.pe);
        shmemx_device_signal_wait_until(block, view, own->signals, SHMEM_CMP_GE, first + i);
    }
    *time = now() - start;
}

static memory *own, *mapped;
static char *source;
static unsigned long *kernel_time, next_signal = 1;
static shmemx_device_view_t view;
static shmemx_device_team_t team;

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "PE %d: %s: %s\n", shmem_my_pe(), what, cudaGetErrorString(cudaGetLastError()));
    shmem_global_exit(1);
}

// The median of some runs, in us for each turn, as the kernel measures itself.
template <class RUN> static double time_kernel(int turns, RUN run)
{
    std::vector<double> times;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned long time = 0;
        shmem_barrier_all();
        run();
        require(cudaDeviceSynchronize() == cudaSuccess, "kernel");
        cudaMemcpy(&time, kernel_time, sizeof time, cudaMemcpyDefault);
        times.push_back(static_cast<double>(time) / 1000 / turns);
    }
    std::sort(times.begin(), times.end());
    return times[ROUNDS / 2];
}

// The same as the host measures it, for kernels of PE 0 alone: in seconds.
template <class RUN> static double time_run(RUN run)
{
    std::vector<double> times;
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    for (int i = 0; i < ROUNDS; i++) {
        float ms = 0;
        cudaEventRecord(begin, 0);
        run();
        cudaEventRecord(end, 0);
        require(cudaDeviceSynchronize() == cudaSuccess, "kernel");
        cudaEventElapsedTime(&ms, begin, end);
        times.push_back(ms / 1000);
    }
    std::sort(times.begin(), times.end());
    return times[ROUNDS / 2];
}

template <class GROUP> static double latency(unsigned long n, int threads)
{
    const int turns = 500;
    return time_kernel(turns,
                       [&] {
                           ping_pong<GROUP><<<1, threads>>>(own, source, n, next_signal, turns, view, kernel_time);
                           next_signal += turns;
                       }) /
           2;
}

static double latency_by_hand(unsigned long n, void *other)
{
    const int turns = 500;
    return time_kernel(turns,
                       [&] {
                           by_hand<<<1, 256>>>(own, static_cast<memory *>(other), source, n, next_signal, turns,
                                               view.pe, kernel_time);
                           next_signal += turns;
                       }) /
           2;
}

static void latencies(void *other)
{
    if (view.pe == 0)
        printf("# put with signal, half a round trip, us\n# bytes  thread    warp   block  by hand (block)\n");
    for (unsigned long n = 8; n <= 32 << 10; n *= n < 64 ? 8 : 4) {
        const double thread = latency<shmemx_device_thread_t>(n, 1), warp = latency<shmemx_device_warp_t>(n, 32);
        const double block = latency<shmemx_device_block_t>(n, 256), hand = latency_by_hand(n, other);
        if (view.pe == 0)
            printf("%7lu %7.2f %7.2f %7.2f %7.2f\n", n, thread, warp, block, hand);
    }
}

static void bandwidths()
{
    printf("# put by blocks of 512 threads, GB/s\n#   bytes       1       8      32     128\n");
    for (unsigned long n = 64 << 10; n <= MOST; n *= 32) {
        printf("%9lu", n);
        for (int blocks : {1, 8, 32, 128}) {
            const int turns = n < 1 << 20 ? 20 : 2;
            const double time = time_run([&] { put_by_blocks<<<blocks, 512>>>(own, source, n, turns, view); });
            printf(" %7.1f", static_cast<double>(n) * turns / time / 1e9);
        }
        printf("\n");
    }
}

template <operation OPERATION> static double rate()
{
    const int turns = 20;
    return 132.0 * 256 * turns / time_run([&] { many_words<OPERATION><<<132, 256>>>(own, turns, view); }) / 1e6;
}

static void collectives()
{
    const double barrier = time_kernel(500, [&] { barriers<<<1, 32>>>(500, team, kernel_time); });
    const double small = time_kernel(200, [&] { sums<<<1, 256>>>((double *)source, 1, 200, team, kernel_time); });
    const double large = time_kernel(50, [&] { sums<<<1, 1024>>>((double *)source, 8192, 50, team, kernel_time); });
    if (view.pe == 0)
        printf("# barrier %.2f us, sum of 8 bytes %.2f us, of 64 KiB %.2f us\n", barrier, small, large);
}

// Seconds of the host for each turn of a function.
template <class TURN> static double time_host(int turns, TURN turn)
{
    std::vector<double> times;
    for (int i = 0; i < ROUNDS; i++) {
        shmem_barrier_all();
        const auto begin = std::chrono::steady_clock::now();
        turn(turns);
        times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / turns);
    }
    std::sort(times.begin(), times.end());
    return times[ROUNDS / 2];
}

// The ping-pong of the kernels by the same calls of the host, on the same memory: us.
static double latency_of_host(unsigned long n)
{
    return 1e6 / 2 * time_host(200, [&](int turns) {
               for (int i = 0; i < turns; i++, next_signal++)
                   for (int step = 0; step < 2; step++)
                       if (step == view.pe)
                           shmem_putmem_signal(mapped->data, source, n, mapped->signals, next_signal, SHMEM_SIGNAL_SET,
                                               1 - view.pe);
                       else
                           shmem_signal_wait_until(mapped->signals, SHMEM_CMP_GE, next_signal);
           });
}

static double halo_on_stream(unsigned long n, cudaStream_t stream)
{
    return 1e6 * time_host(200, [&](int turns) {
               for (int i = 0; i < turns; i++, next_signal++) {
                   shmemx_putmem_signal_on_stream(mapped->data + i % 2 * n, source, n, mapped->signals, next_signal,
                                                  SHMEM_SIGNAL_SET, 1 - view.pe, stream);
                   shmemx_signal_wait_until_on_stream(mapped->signals, SHMEM_CMP_GE, next_signal, stream);
               }
               require(cudaStreamSynchronize(stream) == cudaSuccess, "stream");
           });
}

static double halo_in_kernel(unsigned long n)
{
    const int turns = 200;
    return time_kernel(turns, [&] {
        halos<<<1, 512>>>(own, source, n, next_signal, turns, view, kernel_time);
        next_signal += turns;
    });
}

static void by_agent()
{
    cudaStream_t stream;
    if (view.pe == 0)
        printf("# by the agent: put with signal, half a round trip, us\n# bytes  thread    warp   block    host\n");
    for (unsigned long n = 8; n <= 32 << 10; n *= n < 64 ? 8 : 4) {
        const double thread = latency<shmemx_device_thread_t>(n, 1), warp = latency<shmemx_device_warp_t>(n, 32);
        const double block = latency<shmemx_device_block_t>(n, 256), host = latency_of_host(n);
        if (view.pe == 0)
            printf("%7lu %7.2f %7.2f %7.2f %7.2f\n", n, thread, warp, block, host);
    }
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "stream");
    for (unsigned long n = 4 << 10; n <= 64 << 10; n *= 4) {
        const double kernel = halo_in_kernel(n), on_stream = halo_on_stream(n, stream);
        if (view.pe == 0)
            printf("# halo of %lu bytes both ways: kernel %.2f us, stream %.2f us\n", n, kernel, on_stream);
    }
    if (view.pe == 0) {
        const int turns = 8;
        const double close = time_run([&] { many_far_words<<<132, 256>>>(own, turns, false, view); }) / turns;
        const double apart = time_run([&] { many_far_words<<<132, 256>>>(own, 1, true, view); });
        printf(
            "# millions of p a second accepted and carried out, 132 x 256 threads: side by side %.2f, scattered %.2f\n",
            132.0 * 256 / close / 1e6, 132.0 * 256 / apart / 1e6);
    }
    shmem_barrier_all();
}

// Between PEs of which each reaches the other's memory.
static void directly(void *other)
{
    latencies(other);
    if (view.pe == 0) {
        bandwidths();
        printf("# millions a second, 132 x 256 threads: p %.0f, add %.0f", rate<OPERATION_P>(), rate<OPERATION_ADD>());
        printf(", fetch_add %.0f\n", rate<OPERATION_FETCH_ADD>());
    }
}

int main()
{
    int n_devices = 0;
    shmem_init();
    if (cudaGetDeviceCount(&n_devices) != cudaSuccess || !n_devices || shmem_n_pes() != 2) {
        fprintf(stderr, "needs a CUDA device, and two PEs\n");
        shmem_finalize();
        return 77;
    }
    cudaSetDevice(shmemx_my_device(OSHM_MEMTYPE_CUDA));
    require(cudaMalloc((void **)&own, sizeof *own) == cudaSuccess &&
                cudaMalloc((void **)&source, MOST) == cudaSuccess &&
                cudaMalloc((void **)&kernel_time, sizeof *kernel_time) == cudaSuccess,
            "cudaMalloc");
    cudaMemset(own, 0, sizeof *own);
    cudaMemset(source, 0, MOST);
    cudaDeviceSynchronize();
    mapped = static_cast<memory *>(shmmap(own, sizeof *own, OSHM_MEMTYPE_CUDA));
    require(mapped, "shmmap");
    if (!shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA)) {
        fprintf(stderr, "the PEs share a GPU without MPS\n");
        shmem_finalize();
        return 77;
    }
    require(!shmemx_device_view(mapped, &view) &&
                !shmemx_device_team_view(SHMEM_TEAM_WORLD, mapped->work, SHMEMX_DEVICE_WORK_BYTES(2, SLOT), &team),
            "views");
    shmem_barrier_all();
    void *other = shmem_ptr(mapped, 1 - view.pe);
    other ? directly(other) : by_agent();
    shmem_barrier_all();
    collectives();
    shmumap(mapped);
    shmem_finalize();
}
