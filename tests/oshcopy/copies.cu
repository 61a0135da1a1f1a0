// SPDX-License-Identifier: BSD-3-Clause
//
// A program that knows nothing of SHMEM, to be run with oshcopy and without: copies of pageable buffers by the CUDA
// runtime in both directions. It prints GB/s (the median of the rounds, the first one alone), and looks at every byte.
//
// Usage: copies [MIBYTES [ROUNDS]]. Build: nvcc -O2 [-cudart shared] [-default-stream per-thread] -o copies copies.cu
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static void check(cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
    exit(1);
}
#define CHECK(call) check(call, #call)

static __global__ void add_one(unsigned *words, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        words[i]++;
}

struct Buffers {
    size_t nbytes;
    unsigned *out, *in, *gpu;
    cudaStream_t stream;
    bool is_async, has_rows; // rows: without gaps in host memory, with gaps on the GPU
};

static const size_t row = 64 << 10, gpu_row = row + 512;

static double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double time_copy(const Buffers &b, bool to_gpu)
{
    void *dest = to_gpu ? b.gpu : b.in;
    const void *source = to_gpu ? b.out : b.gpu;
    cudaMemcpyKind kind = to_gpu ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    double begun = now();
    if (b.has_rows) {
        CHECK(cudaMemcpy2D(dest, to_gpu ? gpu_row : row, source, to_gpu ? row : gpu_row, row, b.nbytes / row, kind));
    } else if (b.is_async) {
        CHECK(cudaMemcpyAsync(dest, source, b.nbytes, kind, b.stream));
        CHECK(cudaStreamSynchronize(b.stream));
    } else {
        CHECK(cudaMemcpy(dest, source, b.nbytes, kind));
    }
    return (double)b.nbytes / (now() - begun) * 1e-9;
}

// There, a kernel, and back. The kernel must see all of the data, and what comes back must be the kernel's.
static void round_trip(const Buffers &b, unsigned round, std::vector<double> &there, std::vector<double> &back)
{
    size_t n = b.nbytes / sizeof(unsigned);
    for (size_t i = 0; i < n; i++)
        b.out[i] = (unsigned)i * 2654435761u + round;
    memset(b.in, 0, b.nbytes);
    there.push_back(time_copy(b, true));
    add_one<<<1024, 256, 0, b.is_async ? b.stream : 0>>>(b.gpu, b.has_rows ? n / row * gpu_row : n);
    back.push_back(time_copy(b, false));
    for (size_t i = 0; i < n; i++)
        if (b.in[i] != b.out[i] + 1) {
            fprintf(stderr, "round %u: word %zu is wrong\n", round, i);
            exit(1);
        }
}

static double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

static void measure(const char *name, const Buffers &b, int rounds)
{
    std::vector<double> there, back;
    for (int i = 0; i < rounds; i++)
        round_trip(b, (unsigned)i, there, back);
    printf("%-16s to the GPU %6.1f GB/s (first %6.1f), from the GPU %6.1f GB/s (first %6.1f)\n", name, median(there),
           there[0], median(back), back[0]);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    Buffers b = {};
    int rounds = argc > 2 ? atoi(argv[2]) : 7;
    b.nbytes = (size_t)(argc > 1 ? atoi(argv[1]) : 256) << 20;
    b.out = (unsigned *)malloc(b.nbytes);
    b.in = (unsigned *)malloc(b.nbytes);
    CHECK(cudaMalloc(&b.gpu, b.nbytes / row * gpu_row));
    CHECK(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
    measure("cudaMemcpy", b, rounds);
    b.has_rows = true;
    measure("cudaMemcpy2D", b, rounds);
    b.has_rows = false;
    b.is_async = true;
    measure("cudaMemcpyAsync", b, rounds);
    Buffers locked = b;
    CHECK(cudaMallocHost(&locked.out, b.nbytes));
    CHECK(cudaMallocHost(&locked.in, b.nbytes));
    measure("page-locked", locked, rounds);
    return 0;
}
