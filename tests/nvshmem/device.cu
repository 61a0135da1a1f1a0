// SPDX-License-Identifier: BSD-3-Clause
//
// Device calls with NVSHMEM's names on a GPU: kernel_checks.h and kernel_collective_checks.h in the slab and in a registered
// buffer, in teams of all PEs and of some; kernels of a second unit, of a shared library that is loaded after the start, and
// of a module. device.sh builds it in every way, and runs it.
//
// Usage: device [LIBRARY MODULE]: a shared library made of device_unit.cu and a module made of device_module.cu
#include <nvshmem.h>
#include <nvshmemx.h>

// Few types stand for those of their size, since the compiler takes long: all are compiled for threads of the CPU (played.cc).
#define CHECK_FOR_RMA_TYPES(X, ...)                                                                                    \
    X(half, half, __VA_ARGS__)                                                                                         \
    X(int64, int64_t, __VA_ARGS__)
#define CHECK_FOR_COLLECT_TYPES(X, ...) X(double, double, __VA_ARGS__)
#define CHECK_FOR_SIZES(X, ...)
#define CHECK_FOR_AMO_TYPES(X, ...)                                                                                    \
    X(int, int, __VA_ARGS__)                                                                                           \
    X(ulonglong, unsigned long long, __VA_ARGS__)
#define CHECK_FOR_EXTENDED_AMO_TYPES(X, ...) X(double, double, __VA_ARGS__)
#define CHECK_FOR_BITWISE_AMO_TYPES(X, ...) X(uint, unsigned int, __VA_ARGS__)
#define CHECK_FOR_WAIT_TYPES(X, ...) X(short, short, __VA_ARGS__)
#define CHECK_FOR_REDUCTIONS(X)                                                                                        \
    X(half, half, sum, CHECK_SUM, )                                                                                    \
    X(bfloat16, __nv_bfloat16, max, CHECK_MAX, )                                                                       \
    X(double, double, prod, CHECK_PROD, )
#include "kernel_collective_checks.h"

#include "device_parts.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 96, HEAP_TEAM_XRANGE = 2 };

__global__ void check_words(check_run run)
{
    check_queries(run);
    check_signals(run);
#define CALL(TYPENAME, ...) check_transfers_##TYPENAME(run);
    CHECK_FOR_RMA_TYPES(CALL, )
#undef CALL
#define CALL(TYPENAME, ...) check_atomics_##TYPENAME(run);
    CHECK_FOR_AMO_TYPES(CALL, )
#undef CALL
#define CALL(TYPENAME, ...) check_values_##TYPENAME(run);
    CHECK_FOR_EXTENDED_AMO_TYPES(CALL, )
#undef CALL
#define CALL(TYPENAME, ...) check_bits_##TYPENAME(run);
    CHECK_FOR_BITWISE_AMO_TYPES(CALL, )
#undef CALL
#define CALL(TYPENAME, ...) check_waits_##TYPENAME(run);
    CHECK_FOR_WAIT_TYPES(CALL, )
#undef CALL
}

__global__ void check_collectives(check_run run, unsigned n)
{
    check_barriers(run);
#define CALL(TYPENAME, ...) check_collects_##TYPENAME(run, n);
    CHECK_FOR_COLLECT_TYPES(CALL, )
#undef CALL
#define CALL(TYPENAME, TYPE, OP, ...) check_##OP##_##TYPENAME(run, n);
    CHECK_FOR_REDUCTIONS(CALL)
#undef CALL
}

// Before there is a slab, too, kernels use memory of their own PE by every call.
__global__ void use_own_memory(uint64_t *words, int *failed)
{
    const int me = nvshmem_my_pe();
    nvshmem_uint64_p(&words[0], 7, me);
    nvshmem_quiet();
    nvshmem_uint64_put(&words[1], &words[0], 1, me);
    nvshmem_fence();
    nvshmem_uint64_atomic_add(&words[1], nvshmem_uint64_g(&words[0], me), me);
    if (nvshmem_uint64_atomic_fetch(&words[1], me) != 14)
        *failed = __LINE__;
}

// Kernels that end without a quiet: a barrier of their stream completes what they have put.
__global__ void put_and_end(check_run run, unsigned round)
{
    fill_bytes(run.local, CHECK_BYTES, nvshmem_my_pe(), round);
    nvshmemx_putmem_nbi_block(run.own->data, run.local, CHECK_BYTES, next_pe());
}

__global__ void expect_what_came(check_run run, unsigned round)
{
    for (unsigned i = threadIdx.x; i < CHECK_BYTES; i += blockDim.x)
        EXPECT_IN_KERNEL(run.own->data[i] == check_byte(i, previous_pe(), round));
}

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "PE %d: %s: %s\n", nvshmem_my_pe(), what, cudaGetErrorString(cudaGetLastError()));
    nvshmem_global_exit(1);
}

// Wait for a kernel, and for those of all PEs.
static void finish(const int *failed_in_kernel, const char *what)
{
    int failed = 0;
    require(cudaDeviceSynchronize() == cudaSuccess, what);
    cudaMemcpy(&failed, failed_in_kernel, sizeof failed, cudaMemcpyDefault);
    if (failed)
        fprintf(stderr, "PE %d: %s: the check in line %d has failed\n", nvshmem_my_pe(), what, failed);
    if (failed)
        nvshmem_global_exit(1);
    nvshmem_barrier_all();
    if (nvshmem_my_pe() == 0)
        printf("%s: ok\n", what);
}

template <class KERNEL, class... ARGUMENTS> static void launch(KERNEL *kernel, ARGUMENTS... arguments)
{
    void *pointers[] = {&arguments...};
    require(nvshmemx_collective_launch(reinterpret_cast<const void *>(kernel), 1, THREADS, pointers, 0, 0) ==
                NVSHMEMX_SUCCESS,
            "nvshmemx_collective_launch");
}

static void check_all(const check_run &run, const char *what)
{
    char text[100];
    const unsigned counts[] = {1, 16, CHECK_COUNT};
    snprintf(text, sizeof text, "%s, words", what);
    launch(check_words, run);
    finish(run.failed, text);
    for (unsigned n : counts) {
        snprintf(text, sizeof text, "%s, collectives of %u", what, n);
        launch(check_collectives, run, n);
        finish(run.failed, text);
    }
}

static void check_ends(const check_run &run)
{
    enum { ROUNDS = 50 };
    cudaStream_t stream;
    require(cudaStreamCreate(&stream) == cudaSuccess, "cudaStreamCreate");
    for (unsigned round = 0; round < ROUNDS; round++) {
        put_and_end<<<1, THREADS, 0, stream>>>(run, round);
        nvshmemx_barrier_all_on_stream(stream);
        expect_what_came<<<1, THREADS, 0, stream>>>(run, round);
        nvshmemx_barrier_all_on_stream(stream);
    }
    finish(run.failed, "kernels that end without a quiet");
    cudaStreamDestroy(stream);
}

static check_memory *zeroed(check_memory *memory)
{
    require(memory && cudaMemset(memory, 0, sizeof *memory) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess,
            "memory of the GPU");
    return memory;
}

static void check_library(const char *path, const part_run &run)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    require(library, "dlopen");
    part_launch_t *part = reinterpret_cast<part_launch_t *>(dlsym(library, "launch_part_of_library"));
    nvshmem_barrier_all();
    part(run);
    finish(run.failed, "a shared library");
    dlclose(library);
}

static void check_module(const char *path, part_run run)
{
    CUmodule module;
    CUfunction kernel;
    void *arguments[] = {&run};
    require(cuModuleLoad(&module, path) == CUDA_SUCCESS, "cuModuleLoad");
    require(nvshmemx_cumodule_init(module) == 0, "nvshmemx_cumodule_init");
    require(cuModuleGetFunction(&kernel, module, "part_of_module") == CUDA_SUCCESS, "cuModuleGetFunction");
    nvshmem_barrier_all();
    require(cuLaunchKernel(kernel, 1, 1, 1, THREADS, 1, 1, 0, 0, arguments, 0) == CUDA_SUCCESS, "cuLaunchKernel");
    finish(run.failed, "a module");
    nvshmemx_cumodule_finalize(module);
    cuModuleUnload(module);
}

int main(int argc, char **argv)
{
    int n_devices = 0;
    nvshmem_init();
    if (cudaGetDeviceCount(&n_devices) != cudaSuccess || !n_devices) {
        fprintf(stderr, "no CUDA device\n");
        nvshmem_finalize();
        return 77;
    }
    cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE) % n_devices);
    check_run run = check_run();
    require(cudaMalloc(&run.local, sizeof run.own->collected) == cudaSuccess, "cudaMalloc");
    require(cudaMalloc(&run.failed, sizeof *run.failed) == cudaSuccess, "cudaMalloc");
    cudaMemset(run.failed, 0, sizeof *run.failed);
    nvshmem_barrier_all(); // a call of the host: the library tells this unit what its kernels need
    use_own_memory<<<1, 1>>>(reinterpret_cast<uint64_t *>(run.local), run.failed);
    finish(run.failed, "memory of the own PE");
    run.own = zeroed(static_cast<check_memory *>(nvshmem_malloc(sizeof *run.own)));
    run.team = NVSHMEM_TEAM_WORLD;
    nvshmem_barrier_all();
    check_all(run, "the slab");
    check_ends(run);

    const part_run part = {run.own->words, run.own->signals, run.failed};
    launch_part_of_unit(part);
    finish(run.failed, "a second unit");
    if (argc > 2)
        check_library(argv[1], part);
    if (argc > 2)
        check_module(argv[2], part);

    void *buffer = nullptr;
    require(cudaMalloc(&buffer, sizeof *run.own) == cudaSuccess, "cudaMalloc");
    run.own = static_cast<check_memory *>(nvshmemx_buffer_register_symmetric(buffer, sizeof *run.own, 0));
    zeroed(run.own);
    nvshmem_team_t row = NVSHMEM_TEAM_INVALID, column = NVSHMEM_TEAM_INVALID;
    require(!nvshmem_team_split_2d(NVSHMEM_TEAM_WORLD, HEAP_TEAM_XRANGE, nullptr, 0, &row, nullptr, 0, &column),
            "nvshmem_team_split_2d");
    run.team = row;
    nvshmem_barrier_all();
    check_all(run, "a registered buffer");
    const int me = nvshmem_my_pe();
    nvshmem_finalize();
    if (me == 0)
        puts("ok");
}
