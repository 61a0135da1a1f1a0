// SPDX-License-Identifier: BSD-3-Clause
//
// The measurements of kernels.cu by NVSHMEM's device API, to compare with ours: nvshmem.sh builds and runs this where it
// finds NVSHMEM. No part of the build.
//
//   nvshmem_kernels RANK FILE       two processes, RANK 0 and 1; FILE (not there yet) carries the unique id from 0 to 1
#include <nvshmem.h>
#include <nvshmemx.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

enum { MOST = 64 << 20, ROUNDS = 5, WORDS = 132 * 256 };

static int rank;
static char *data, *source;
static unsigned long *words, *kernel_time, next_signal = 1;
static uint64_t *signal_word;
static double *sum_in, *sum_out;

// Nanoseconds of a PE's own clock.
__device__ unsigned long now()
{
    unsigned long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

enum group { THREAD, WARP, BLOCK };

template <group GROUP>
__global__ void ping_pong(char *dest, const char *from, size_t n, uint64_t *signal, unsigned long first, int turns,
                          int pe, unsigned long *time)
{
    const unsigned long start = now();
    for (int i = 0; i < 2 * turns; i++) {
        if (i % 2 == pe) {
            if (GROUP == THREAD)
                nvshmem_putmem_signal_nbi(dest, from, n, signal, first + i / 2, NVSHMEM_SIGNAL_SET, 1 - pe);
            else if (GROUP == WARP)
                nvshmemx_putmem_signal_nbi_warp(dest, from, n, signal, first + i / 2, NVSHMEM_SIGNAL_SET, 1 - pe);
            else
                nvshmemx_putmem_signal_nbi_block(dest, from, n, signal, first + i / 2, NVSHMEM_SIGNAL_SET, 1 - pe);
        } else {
            if (threadIdx.x == 0)
                nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, first + i / 2);
            if (GROUP == WARP)
                __syncwarp();
            else if (GROUP == BLOCK)
                __syncthreads();
        }
    }
    *time = now() - start;
}

__global__ void put_by_blocks(char *dest, const char *from, size_t n, int turns)
{
    const size_t part = n / gridDim.x, first = part * blockIdx.x;
    for (int i = 0; i < turns; i++)
        nvshmemx_putmem_nbi_block(dest + first, from + first, part, 1);
    nvshmem_quiet();
}

enum operation { OPERATION_P, OPERATION_ADD, OPERATION_FETCH_ADD };
template <operation OPERATION> __global__ void many_words(unsigned long *words, int turns)
{
    unsigned long *word = &words[blockIdx.x * blockDim.x + threadIdx.x], sum = 0;
    for (int i = 0; i < turns; i++) {
        if (OPERATION == OPERATION_P)
            nvshmem_ulong_p(word, static_cast<unsigned long>(i), 1);
        else if (OPERATION == OPERATION_ADD)
            nvshmem_ulong_atomic_add(word, 1, 1);
        else
            sum += nvshmem_ulong_atomic_fetch_add(word, 1, 1);
    }
    if (sum == ~0ul)
        *word = sum;
}

__global__ void barriers(int turns, unsigned long *time)
{
    const unsigned long start = now();
    for (int i = 0; i < turns; i++)
        nvshmemx_barrier_block(NVSHMEM_TEAM_WORLD);
    *time = now() - start;
}

__global__ void sums(double *out, const double *in, size_t n, int turns, unsigned long *time)
{
    const unsigned long start = now();
    for (int i = 0; i < turns; i++)
        nvshmemx_double_sum_reduce_block(NVSHMEM_TEAM_WORLD, out, in, n);
    *time = now() - start;
}

[[noreturn]] static void die(const std::string &text)
{
    std::fprintf(stderr, "nvshmem_kernels: %s\n", text.c_str());
    std::exit(1);
}

static void check_cuda(cudaError_t error, const char *call)
{
    if (error != cudaSuccess)
        die(std::string(call) + ": " + cudaGetErrorString(error));
}

static void publish(const std::string &file, const nvshmemx_uniqueid_t &id)
{
    const std::string temporary = file + ".new";
    FILE *out = std::fopen(temporary.c_str(), "w");
    const bool written = out && std::fwrite(&id, sizeof id, 1, out) == 1;
    if (!written || std::fclose(out) || std::rename(temporary.c_str(), file.c_str()))
        die("cannot write " + file);
}

static nvshmemx_uniqueid_t await(const std::string &file)
{
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    for (int tries = 0; tries < 300; tries++) {
        if (FILE *in = std::fopen(file.c_str(), "r")) {
            const bool complete = std::fread(&id, sizeof id, 1, in) == 1;
            std::fclose(in);
            if (complete)
                return id;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    die("no unique id in " + file);
}

static void start(const std::string &file)
{
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    int devices = 0;
    check_cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    check_cuda(cudaSetDevice(rank % devices), "cudaSetDevice");
    if (rank == 0) {
        if (nvshmemx_get_uniqueid(&id))
            die("nvshmemx_get_uniqueid failed");
        publish(file, id);
    } else {
        id = await(file);
    }
    nvshmemx_set_attr_uniqueid_args(rank, 2, &id, &attributes);
    if (nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes))
        die("nvshmemx_init_attr failed");
}

static double median(std::vector<double> times)
{
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

// The median of some runs, in us for each turn, as the kernel measures itself.
template <class RUN> static double time_kernel(int turns, RUN run)
{
    std::vector<double> times;
    for (int i = 0; i < ROUNDS; i++) {
        unsigned long time = 0;
        nvshmem_barrier_all();
        run();
        check_cuda(cudaDeviceSynchronize(), "kernel");
        check_cuda(cudaMemcpy(&time, kernel_time, sizeof time, cudaMemcpyDefault), "cudaMemcpy");
        times.push_back(static_cast<double>(time) / 1000 / turns);
    }
    return median(times);
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
        check_cuda(cudaDeviceSynchronize(), "kernel");
        cudaEventElapsedTime(&ms, begin, end);
        times.push_back(ms / 1000);
    }
    return median(times);
}

template <group GROUP> static double latency(size_t n, int threads)
{
    const int turns = 500;
    return time_kernel(turns,
                       [&] {
                           ping_pong<GROUP>
                               <<<1, threads>>>(data, source, n, signal_word, next_signal, turns, rank, kernel_time);
                           next_signal += turns;
                       }) /
           2;
}

static void latencies()
{
    if (rank == 0)
        printf("# NVSHMEM: put with signal, half a round trip, us\n# bytes  thread    warp   block\n");
    for (size_t n = 8; n <= 32 << 10; n *= n < 64 ? 8 : 4) {
        const double thread = latency<THREAD>(n, 1), warp = latency<WARP>(n, 32), block = latency<BLOCK>(n, 256);
        if (rank == 0)
            printf("%7zu %7.2f %7.2f %7.2f\n", n, thread, warp, block);
    }
}

static void bandwidths()
{
    printf("# NVSHMEM: put by blocks of 512 threads, GB/s\n#   bytes       1       8      32     128\n");
    for (size_t n = 64 << 10; n <= MOST; n *= 32) {
        printf("%9zu", n);
        for (int blocks : {1, 8, 32, 128}) {
            const int turns = n < 1 << 20 ? 20 : 2;
            const double time = time_run([&] { put_by_blocks<<<blocks, 512>>>(data, source, n, turns); });
            printf(" %7.1f", static_cast<double>(n) * turns / time / 1e9);
        }
        printf("\n");
    }
}

template <operation OPERATION> static double rate()
{
    const int turns = 20;
    return 132.0 * 256 * turns / time_run([&] { many_words<OPERATION><<<132, 256>>>(words, turns); }) / 1e6;
}

static void collectives()
{
    const double barrier = time_kernel(500, [&] { barriers<<<1, 32>>>(500, kernel_time); });
    const double small = time_kernel(200, [&] { sums<<<1, 256>>>(sum_out, sum_in, 1, 200, kernel_time); });
    const double large = time_kernel(50, [&] { sums<<<1, 1024>>>(sum_out, sum_in, 8192, 50, kernel_time); });
    if (rank == 0)
        printf("# NVSHMEM: barrier %.2f us, sum of 8 bytes %.2f us, of 64 KiB %.2f us\n", barrier, small, large);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        die("usage: nvshmem_kernels RANK FILE");
    rank = std::atoi(argv[1]);
    start(argv[2]);
    data = static_cast<char *>(nvshmem_malloc(MOST));
    source = static_cast<char *>(nvshmem_malloc(MOST));
    words = static_cast<unsigned long *>(nvshmem_calloc(WORDS, sizeof *words));
    signal_word = static_cast<uint64_t *>(nvshmem_calloc(1, sizeof *signal_word));
    sum_in = static_cast<double *>(nvshmem_calloc(8192, sizeof *sum_in));
    sum_out = static_cast<double *>(nvshmem_calloc(8192, sizeof *sum_out));
    check_cuda(cudaMalloc((void **)&kernel_time, sizeof *kernel_time), "cudaMalloc");
    nvshmem_barrier_all();
    latencies();
    if (rank == 0) {
        bandwidths();
        printf("# NVSHMEM: millions a second, 132 x 256 threads: p %.0f, add %.0f", rate<OPERATION_P>(),
               rate<OPERATION_ADD>());
        printf(", fetch_add %.0f\n", rate<OPERATION_FETCH_ADD>());
        fflush(stdout);
    }
    nvshmem_barrier_all();
    collectives();
    fflush(stdout);
    nvshmem_finalize();
}
