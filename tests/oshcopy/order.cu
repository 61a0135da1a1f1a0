// SPDX-License-Identifier: BSD-3-Clause
//
// A program that knows nothing of SHMEM and depends on what CUDA says about copies of pageable memory: their order with
// streams, contents, results. It prints what it sees, which must be the same with oshcopy and without.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static const size_t N = 6 << 20, BYTES = N * sizeof(int);
static const long long WHILE = 200000000; // cycles: a tenth of a second

static __global__ void fill(int *words, size_t n, int value, long long cycles)
{
    long long begun = clock64();
    while (clock64() - begun < cycles)
        continue;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        words[i] = value;
}

static __global__ void fault(int *words)
{
    *words = 1;
}

static void say(const char *what, cudaError_t error)
{
    printf("%s: %s\n", what, cudaGetErrorName(error));
}

static int *gpu_memory()
{
    int *words = nullptr;
    say("cudaMalloc", cudaMalloc(&words, BYTES));
    return words;
}

static cudaStream_t make_stream(unsigned flags)
{
    cudaStream_t stream;
    say("cudaStreamCreateWithFlags", cudaStreamCreateWithFlags(&stream, flags));
    return stream;
}

static bool all(const std::vector<int> &words, int value)
{
    for (int word : words)
        if (word != value)
            return false;
    return true;
}

// The device's words, by an own copy after everything else.
static bool all_there(const int *gpu, int value)
{
    std::vector<int> words(N);
    say("cudaDeviceSynchronize", cudaDeviceSynchronize());
    for (size_t i = 0; i < N; i += N / 16) // pieces that are too small for oshcopy
        cudaMemcpy(&words[i], gpu + i, N / 16 * sizeof(int), cudaMemcpyDeviceToHost);
    return all(words, value);
}

static void order()
{
    cudaStream_t blocking = make_stream(cudaStreamDefault), other = make_stream(cudaStreamNonBlocking);
    int *gpu = gpu_memory();
    std::vector<int> host(N);
    fill<<<256, 256, 0, blocking>>>(gpu, N, 1, WHILE);
    say("cudaMemcpy", cudaMemcpy(host.data(), gpu, BYTES, cudaMemcpyDeviceToHost));
    printf("behind a blocking stream: %d\n", all(host, 1));
    fill<<<256, 256, 0, other>>>(gpu, N, 2, WHILE);
    say("cudaMemcpyAsync", cudaMemcpyAsync(host.data(), gpu, BYTES, cudaMemcpyDeviceToHost, other));
    printf("complete on return: %d\n", all(host, 2));
    fill<<<256, 256, 0, other>>>(gpu, N, 3, WHILE);
    host.assign(N, 4);
    say("cudaMemcpyAsync", cudaMemcpyAsync(gpu, host.data(), BYTES, cudaMemcpyDefault, other));
    host.assign(N, 5);
    printf("behind a kernel, source free on return: %d\n", all_there(gpu, 4));
    fill<<<256, 256, 0, blocking>>>(gpu, N, 6, WHILE);
    say("cudaMemcpy", cudaMemcpy(gpu, host.data(), BYTES, cudaMemcpyDefault));
    printf("to the GPU, behind a blocking stream: %d\n", all_there(gpu, 5));
    cudaFree(gpu);
}

static void capture()
{
    cudaStream_t captured = make_stream(cudaStreamNonBlocking), other = make_stream(cudaStreamNonBlocking);
    std::vector<int> host(N, 7);
    int *gpu = gpu_memory();
    cudaGraph_t graph;
    say("cudaStreamBeginCapture", cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
    say("elsewhere", cudaMemcpyAsync(gpu, host.data(), BYTES, cudaMemcpyHostToDevice, other));
    say("cudaStreamEndCapture", cudaStreamEndCapture(captured, &graph));
    printf("beside a capture: %d\n", all_there(gpu, 7));
    cudaGetLastError();
    host.assign(N, 8);
    say("cudaStreamBeginCapture", cudaStreamBeginCapture(captured, cudaStreamCaptureModeRelaxed));
    say("captured", cudaMemcpyAsync(gpu, host.data(), BYTES, cudaMemcpyHostToDevice, captured));
    say("cudaStreamEndCapture", cudaStreamEndCapture(captured, &graph));
    printf("captured, not copied: %d\n", all_there(gpu, 7));
    cudaGetLastError();
    say("cudaStreamBeginCapture", cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
    say("synchronous", cudaMemcpy(gpu, host.data(), BYTES, cudaMemcpyHostToDevice));
    say("cudaStreamEndCapture", cudaStreamEndCapture(captured, &graph));
    cudaGetLastError();
    cudaFree(gpu);
}

static void refusals()
{
    int *gpu = gpu_memory(), *managed = nullptr;
    std::vector<int> host(4 * N, 9);
    say("beyond the end", cudaMemcpy(gpu, host.data(), 3 * BYTES, cudaMemcpyHostToDevice));
    say("wrong direction", cudaMemcpy(gpu, host.data(), BYTES, cudaMemcpyDeviceToHost));
    say("no destination", cudaMemcpyAsync(nullptr, host.data(), BYTES, cudaMemcpyHostToDevice, nullptr));
    say("host to host", cudaMemcpy(host.data() + N, host.data(), BYTES, cudaMemcpyDefault));
    say("cudaMallocManaged", cudaMallocManaged(&managed, BYTES));
    say("managed", cudaMemcpy(managed, host.data(), BYTES, cudaMemcpyDefault));
    printf("managed: %d\n", managed[0] == 9 && managed[N - 1] == 9);
    say("registered", cudaHostRegister(host.data(), BYTES, 0));
    say("half registered", cudaMemcpy(gpu, host.data() + N / 2, BYTES, cudaMemcpyHostToDevice));
    say("unregistered", cudaHostUnregister(host.data()));
    cudaGetLastError();
    cudaFree(managed);
    cudaFree(gpu);
}

static void threads()
{
    int *gpu[4];
    bool right[4] = {};
    std::vector<std::thread> all_threads;
    for (auto &words : gpu)
        words = gpu_memory();
    for (int t = 0; t < 4; t++)
        all_threads.emplace_back([&, t] {
            std::vector<int> out(N), in(N);
            cudaStream_t stream;
            bool good = cudaStreamCreate(&stream) == cudaSuccess;
            for (int i = 0; i < 10; i++) {
                out.assign(N, 100 * t + i);
                good &= cudaMemcpyAsync(gpu[t], out.data(), BYTES, cudaMemcpyHostToDevice, stream) == cudaSuccess;
                fill<<<1, 1, 0, stream>>>(gpu[t], 1, 100 * t + i, 0);
                good &= cudaMemcpyAsync(in.data(), gpu[t], BYTES, cudaMemcpyDeviceToHost, stream) == cudaSuccess;
                good &= all(in, 100 * t + i);
            }
            right[t] = good;
        });
    for (auto &thread : all_threads)
        thread.join();
    for (bool good : right)
        printf("thread: %d\n", good);
}

static void reset()
{
    say("cudaDeviceReset", cudaDeviceReset());
    for (int i = 0; i < 2; i++) {
        std::vector<int> host(N, 10 + i), back(N);
        int *gpu = gpu_memory();
        say("after it", cudaMemcpy(gpu, host.data(), BYTES, cudaMemcpyHostToDevice));
        say("and back", cudaMemcpy(back.data(), gpu, BYTES, cudaMemcpyDeviceToHost));
        printf("after a reset: %d\n", all(back, 10 + i));
        cudaFree(gpu);
    }
}

static void child()
{
    int *gpu = gpu_memory();
    std::vector<int> host(N);
    fflush(stdout);
    if (fork() == 0) {
        say("in a child", cudaMemcpy(gpu, host.data(), BYTES, cudaMemcpyHostToDevice));
        fflush(stdout);
        _exit(0);
    }
    wait(nullptr);
}

static void broken()
{
    int *gpu = gpu_memory();
    std::vector<int> host(N);
    fault<<<1, 1>>>((int *)8);
    say("after a fault", cudaMemcpy(gpu, host.data(), BYTES, cudaMemcpyHostToDevice));
    say("and again", cudaMemcpy(host.data(), gpu, BYTES, cudaMemcpyDeviceToHost));
}

int main()
{
    order();
    capture();
    refusals();
    threads();
    reset();
    child();
    broken();
    return 0;
}
