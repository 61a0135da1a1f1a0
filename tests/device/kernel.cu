// SPDX-License-Identifier: BSD-3-Clause
//
// Every call of shmemx_device.h in a kernel, on a buffer of cudaMalloc; a put by many blocks; a queue that threads of all
// PEs fill; kernels that leave no room on the GPU. device.test compiles it, gpu-check runs it.
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 16, THREADS = 96, ENTRIES = BLOCKS * THREADS, MANY = 1 << 20, QUEUES = 30 };
enum { FULL_THREADS = 1024, FULL_BLOCKS = 1024, FULL_ROUNDS = 4, ROW = 600 };

struct buffers {
    symmetric all;
    unsigned long tail; // of the queue of PE 0
    unsigned long queue[8 * ENTRIES], filled[8 * ENTRIES];
    unsigned long arrived[BLOCKS];
    alignas(16) int many[MANY + 4];
    alignas(16) int row[FULL_BLOCKS][2][ROW];
    unsigned long row_arrived[FULL_BLOCKS], counted;
};

__global__ void all_calls(calls c)
{
    make_all_calls(c, true);
}

// Each block puts its part to the next PE, and waits for the part that the same block of the PE before puts.
__global__ void put_by_blocks(calls c, buffers *own, int *source)
{
    const shmemx_device_block_t block;
    const unsigned long part = MANY / BLOCKS, first = blockIdx.x * part;
    for (unsigned long i = block.rank(); i < part; i += block.size())
        source[first + i] = static_cast<int>(first + i) ^ c.view.pe;
    block.sync();
    shmemx_device_put_signal(block, c.view, own->many + 1 + first, source + first, part, &own->arrived[blockIdx.x], 1,
                             SHMEM_SIGNAL_SET, next_of(c));
    shmemx_device_signal_wait_until(block, c.view, &own->arrived[blockIdx.x], SHMEM_CMP_EQ, 1);
    for (unsigned long i = block.rank(); i < part; i += block.size())
        EXPECT(own->many[1 + first + i] == (static_cast<int>(first + i) ^ previous_of(c)));
}

// Every thread adds an entry to the queue of PE 0.
__global__ void fill_queue(calls c, buffers *own)
{
    const unsigned long me = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long value = 1 + static_cast<unsigned long>(c.view.pe) * ENTRIES + me;
    const unsigned long place = shmemx_device_atomic_fetch_inc(c.view, &own->tail, 0);
    shmemx_device_p(c.view, &own->queue[place], value, 0);
    shmemx_device_signal_set(c.view, &own->filled[place], 1, 0);
}

// One block of PE 0 takes them all.
__global__ void empty_queue(calls c, buffers *own)
{
    __shared__ unsigned long sum;
    if (c.view.pe)
        return;
    const unsigned long n = static_cast<unsigned long>(c.view.n_pes) * ENTRIES;
    sum = 0;
    __syncthreads();
    for (unsigned long i = threadIdx.x; i < n; i += blockDim.x) {
        shmemx_device_wait_until(thread_group(), c.view, &own->filled[i], SHMEM_CMP_EQ, 1);
        atomicAdd(reinterpret_cast<unsigned long long *>(&sum), own->queue[i]);
    }
    __syncthreads();
    EXPECT(sum == n * (n + 1) / 2);
}

// As many blocks as the GPU holds: each sends a row to the same block of the next PE and waits for one of the PE before,
// which may be a round ahead.
__global__ void __launch_bounds__(FULL_THREADS) fill_gpu(calls c, buffers *own, int *source, bool counts)
{
    const shmemx_device_block_t block;
    int *row = source + blockIdx.x * ROW;
    for (unsigned long round = 1; round <= FULL_ROUNDS; round++) {
        int(&arrived)[ROW] = own->row[blockIdx.x][round % 2];
        for (unsigned i = block.rank(); i < ROW; i += block.size())
            row[i] = static_cast<int>(1000000 * c.view.pe + 1000 * round + i + blockIdx.x);
        block.sync();
        shmemx_device_put_signal(block, c.view, arrived, row, ROW, &own->row_arrived[blockIdx.x], round,
                                 SHMEM_SIGNAL_SET, next_of(c));
        shmemx_device_signal_wait_until(block, c.view, &own->row_arrived[blockIdx.x], SHMEM_CMP_GE, round);
        for (unsigned i = block.rank(); i < ROW; i += block.size())
            EXPECT(arrived[i] == static_cast<int>(1000000 * previous_of(c) + 1000 * round + i + blockIdx.x));
        if (counts && block.rank() == 0)
            shmemx_device_atomic_add(c.view, &own->counted, 1, next_of(c));
        block.sync();
    }
    if (counts)
        shmemx_device_quiet(block, c.view);
}

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "PE %d: %s: %s\n", shmem_my_pe(), what, cudaGetErrorString(cudaGetLastError()));
    shmem_global_exit(1);
}

static void use_queue(const calls &c, buffers *own)
{
    cudaMemset(&own->tail, 0, sizeof own->tail);
    cudaMemset(own->queue, 0, sizeof own->queue);
    cudaMemset(own->filled, 0, sizeof own->filled);
    require(cudaDeviceSynchronize() == cudaSuccess, "an empty queue");
    shmem_barrier_all();
    fill_queue<<<BLOCKS, THREADS>>>(c, own);
    empty_queue<<<1, THREADS>>>(c, own);
    require(cudaDeviceSynchronize() == cudaSuccess, "queue");
    shmem_barrier_all();
}

static void finish(const calls &c, const char *what)
{
    int failed;
    require(cudaDeviceSynchronize() == cudaSuccess, what);
    cudaMemcpy(&failed, c.failed, sizeof failed, cudaMemcpyDefault);
    if (failed)
        fprintf(stderr, "PE %d: %s: the check in line %d has failed\n", shmem_my_pe(), what, failed);
    if (failed)
        shmem_global_exit(1);
    shmem_barrier_all();
    if (c.view.pe == 0)
        printf("%s: ok\n", what);
}

// The GPU full to the last place if no room is needed for atomic operations; otherwise as a program fills it.
static void fill(const calls &c, buffers *own, int *source, bool counts)
{
    int blocks = shmemx_device_max_blocks(fill_gpu, FULL_THREADS, 0), of_processor = 0, processors = 0, device = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_processor, fill_gpu, FULL_THREADS, 0);
    if (!counts)
        blocks = processors * of_processor / shmemx_device_sharers();
    require(blocks > 0 && blocks <= FULL_BLOCKS, "blocks that fill the GPU");
    cudaMemset(own->row_arrived, 0, sizeof own->row_arrived);
    cudaDeviceSynchronize();
    shmem_barrier_all();
    fill_gpu<<<blocks, FULL_THREADS>>>(c, own, source, counts);
    finish(c, counts ? "a full GPU, and atomic operations" : "a full GPU");
    unsigned long counted = 0;
    cudaMemcpy(&counted, &own->counted, sizeof counted, cudaMemcpyDefault);
    require(counted == (counts ? static_cast<unsigned long>(blocks) * FULL_ROUNDS : 0), "what the next PE has counted");
}

template <class T> static T *allocate(size_t nbytes)
{
    void *pointer;
    require(cudaMalloc(&pointer, nbytes) == cudaSuccess && cudaMemset(pointer, 0, nbytes) == cudaSuccess, "cudaMalloc");
    return static_cast<T *>(pointer);
}

int main()
{
    int n_devices = 0;
    shmem_init();
    if (cudaGetDeviceCount(&n_devices) != cudaSuccess || !n_devices) {
        fprintf(stderr, "no CUDA device\n");
        shmem_finalize();
        return 77;
    }
    cudaSetDevice(shmemx_my_device(OSHM_MEMTYPE_CUDA));
    buffers *own = allocate<buffers>(sizeof *own);
    static_assert(FULL_BLOCKS * ROW <= MANY, "the source of rows");
    int *source = allocate<int>(MANY * sizeof *source);
    cudaDeviceSynchronize();
    buffers *mapped = static_cast<buffers *>(shmmap(own, sizeof *own, OSHM_MEMTYPE_CUDA));
    require(mapped && shmem_n_pes() <= 8, "shmmap");
    calls c = calls();
    if (!shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA) || shmemx_device_view(mapped, &c.view)) {
        fprintf(stderr, "kernels of these PEs cannot wait for each other, or not reach each other\n");
        shmem_finalize();
        return 77;
    }
    const size_t work = SHMEMX_DEVICE_WORK_BYTES(shmem_n_pes(), 112);
    require(!shmemx_device_team_view(SHMEM_TEAM_WORLD, mapped->all.work, work, &c.team), "shmemx_device_team_view");
    c.own = &own->all;
    c.source = allocate<unsigned char>(N_BYTES);
    c.failed = allocate<int>(sizeof *c.failed);
    cudaDeviceSynchronize();
    shmem_barrier_all();
    all_calls<<<1, THREADS>>>(c);
    finish(c, "all calls");
    put_by_blocks<<<BLOCKS, THREADS>>>(c, own, source);
    finish(c, "put by blocks");
    for (int round = 0; round < QUEUES; round++)
        use_queue(c, own);
    finish(c, "queue");
    fill(c, own, source, false);
    fill(c, own, source, true);
    shmumap(mapped);
    shmem_finalize();
}
