// SPDX-License-Identifier: BSD-3-Clause
//
// limits.h in kernels: the data in a buffer of cudaMalloc, signals there, on the heap, or in memory of another route (the
// default pool's); sources and destinations of gets in memory of the GPU, in shared memory of the block and in local memory
// of a thread, which the agent does not reach. gpu-check runs it.
#include "limits.h"

#include <stdio.h>
#include <stdlib.h>

enum { LIMIT_THREADS = 96, LIMIT_STEP = 2, SHARED_BYTES = LIMIT_BYTES + 2 * LIMIT_GUARD };

__global__ void all_limits(limit_run run)
{
    check_limits(run, LIMIT_STEP);
}

// As check_limits, with what the puts come from and the gets go to in shared memory.
__global__ void shared_limits(limit_run run)
{
    __shared__ unsigned char shared[SHARED_BYTES];
    run.source = run.expected = shared;
    for (unsigned i = 0; i < LIMIT_SIZES; i++) {
        check_puts(run, shmemx_device_block_t(), limit_size(i), i);
        check_puts(run, shmemx_device_warp_t(), limit_size(i), i);
        check_gets(run, shmemx_device_block_t(), shared, limit_size(i), i);
        check_collectives(run, shmemx_device_block_t(), limit_size(i), true, i);
    }
    shmemx_device_barrier(shmemx_device_block_t(), run.team);
}

// By one thread, from and to its own memory.
__global__ void local_limits(limit_run run)
{
    unsigned char local[SHARED_BYTES];
    run.source = run.expected = local;
    for (unsigned i = 0; i < LIMIT_SIZES; i++) {
        check_puts(run, shmemx_device_thread_t(), limit_size(i), i);
        check_gets(run, shmemx_device_thread_t(), local, limit_size(i), i);
    }
    shmemx_device_barrier(shmemx_device_block_t(), run.team);
}

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "PE %d: %s: %s\n", shmem_my_pe(), what, cudaGetErrorString(cudaGetLastError()));
    shmem_global_exit(1);
}

static void finish(const limit_run &run, const char *what)
{
    int failed = 0;
    require(cudaDeviceSynchronize() == cudaSuccess, what);
    cudaMemcpy(&failed, run.failed, sizeof failed, cudaMemcpyDefault);
    if (failed)
        fprintf(stderr, "PE %d: %s: the check in line %d of limits.h has failed, pieces of %u bytes\n", shmem_my_pe(),
                what, failed, run.team.slot);
    if (failed)
        shmem_global_exit(1);
    shmem_barrier_all();
}

static void *zeroed(void *pointer, cudaError_t rc, size_t nbytes)
{
    require(rc == cudaSuccess && cudaMemset(pointer, 0, nbytes) == cudaSuccess, "memory of the GPU");
    return pointer;
}

static void *allocate(size_t nbytes)
{
    void *pointer = nullptr;
    const cudaError_t rc = cudaMalloc(&pointer, nbytes);
    return zeroed(pointer, rc, nbytes);
}

// Work areas hold more than a slot of the ring, or less.
static void run_all(limit_run run, char *area, char *mapped_area, const char *what)
{
    const size_t pieces[2] = {32768, 9000};
    for (const size_t piece : pieces) {
        const size_t nbytes = SHMEMX_DEVICE_WORK_BYTES(shmem_n_pes(), piece);
        require(cudaMemset(area, 0, nbytes) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess, "a work area");
        require(!shmemx_device_team_view(SHMEM_TEAM_WORLD, mapped_area, nbytes, &run.team), "shmemx_device_team_view");
        shmem_barrier_all();
        all_limits<<<1, LIMIT_THREADS>>>(run);
        finish(run, what);
        shared_limits<<<1, LIMIT_THREADS>>>(run);
        finish(run, "shared memory");
    }
    local_limits<<<1, 1>>>(run);
    finish(run, "local memory");
    if (run.view.pe == 0)
        printf("%s: ok\n", what);
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
    const size_t work_bytes = SHMEMX_DEVICE_WORK_BYTES(shmem_n_pes(), 32768), pool_bytes = 1 << 20;
    const size_t own_bytes = (sizeof(limited) + 63) / 64 * 64;
    void *pool = nullptr;
    char *own = static_cast<char *>(allocate(own_bytes + work_bytes));
    const cudaError_t rc = cudaMallocAsync(&pool, pool_bytes, 0);
    zeroed(pool, rc, pool_bytes);
    cudaDeviceSynchronize();
    unsigned long *on_heap = static_cast<unsigned long *>(shmem_calloc(1, sizeof *on_heap));
    void *mapped = shmmap(own, own_bytes + work_bytes, OSHM_MEMTYPE_CUDA),
         *mapped_pool = shmmap(pool, pool_bytes, OSHM_MEMTYPE_CUDA);
    require(mapped && mapped_pool, "shmmap");
    limit_run run = limit_run();
    shmemx_device_view_t heap_view, pool_view;
    if (!shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA) || shmemx_device_view(mapped, &run.view) ||
        shmemx_device_view(mapped_pool, &pool_view) || shmemx_device_view(on_heap, &heap_view)) {
        fprintf(stderr, "kernels of these PEs cannot wait for each other, or not reach each other\n");
        shmem_finalize();
        return 77;
    }
    run.own = reinterpret_cast<limited *>(own);
    run.source = static_cast<unsigned char *>(allocate(LIMIT_BYTES));
    run.expected = static_cast<unsigned char *>(allocate(LIMIT_BYTES + 2 * LIMIT_GUARD));
    run.failed = static_cast<int *>(allocate(sizeof *run.failed));
    run.signal_view = run.view;
    run.signal = &run.own->signal;
    char *area = own + own_bytes, *mapped_area = static_cast<char *>(mapped) + own_bytes;
    run_all(run, area, mapped_area, "one buffer");
    run.signal_view = heap_view;
    run.signal = on_heap;
    run_all(run, area, mapped_area, "signals on the heap");
    run.signal_view = pool_view;
    run.signal = static_cast<unsigned long *>(pool);
    run_all(run, area, mapped_area, "signals in memory of the pool");
    run.view = pool_view;
    run.own = static_cast<limited *>(pool);
    run.signal_view = heap_view;
    run.signal = on_heap;
    run_all(run, area, mapped_area, "data in memory of the pool, work area beside it");
    shmumap(mapped_pool);
    shmumap(mapped);
    shmem_finalize();
}
