// SPDX-License-Identifier: BSD-3-Clause
//
// families.h in kernels, in a buffer of cudaMalloc. gpu-check runs it.
#include "families.h"

#include <stdio.h>
#include <stdlib.h>

enum { FAMILY_THREADS = 96, FAMILY_STEP = 3, WORDS_BYTES = 256 };

__global__ void all_families(family_run run)
{
    check_families(run, FAMILY_STEP);
}

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "PE %d: %s: %s\n", shmem_my_pe(), what, cudaGetErrorString(cudaGetLastError()));
    shmem_global_exit(1);
}

static char *zeroed(size_t nbytes)
{
    void *pointer = nullptr;
    require(cudaMalloc(&pointer, nbytes) == cudaSuccess && cudaMemset(pointer, 0, nbytes) == cudaSuccess,
            "memory of the GPU");
    return static_cast<char *>(pointer);
}

int main()
{
    int n_devices = 0, failed = 0;
    shmem_init();
    if (cudaGetDeviceCount(&n_devices) != cudaSuccess || !n_devices) {
        fprintf(stderr, "no CUDA device\n");
        shmem_finalize();
        return 77;
    }
    cudaSetDevice(shmemx_my_device(OSHM_MEMTYPE_CUDA));
    const int n_pes = shmem_n_pes();
    const size_t data_bytes = (family_bytes(n_pes) + 63) / 64 * 64,
                 work_bytes = SHMEMX_DEVICE_WORK_BYTES(n_pes, FAMILY_SLOT);
    char *own = zeroed(data_bytes + work_bytes + WORDS_BYTES);
    cudaDeviceSynchronize();
    char *mapped = static_cast<char *>(shmmap(own, data_bytes + work_bytes + WORDS_BYTES, OSHM_MEMTYPE_CUDA));
    require(mapped, "shmmap");
    family_run run = family_run();
    if (!shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA) || shmemx_device_view(mapped, &run.view)) {
        fprintf(stderr, "kernels of these PEs cannot wait for each other, or not reach each other\n");
        shmem_finalize();
        return 77;
    }
    require(!shmemx_device_team_view(SHMEM_TEAM_WORLD, mapped + data_bytes, work_bytes, &run.team), "a team");
    char *words = own + data_bytes + work_bytes;
    run.dest = reinterpret_cast<unsigned char *>(own);
    run.source = reinterpret_cast<unsigned char *>(zeroed(data_bytes));
    run.sums = reinterpret_cast<double *>(words);
    run.single_sums = reinterpret_cast<float *>(words + 64);
    run.pairs = reinterpret_cast<unsigned short *>(words + 128);
    run.failed = reinterpret_cast<int *>(zeroed(sizeof *run.failed));
    all_families<<<1, FAMILY_THREADS>>>(run);
    require(cudaDeviceSynchronize() == cudaSuccess, "the kernel");
    cudaMemcpy(&failed, run.failed, sizeof failed, cudaMemcpyDefault);
    if (failed)
        fprintf(stderr, "PE %d: the check in line %d of families.h has failed\n", run.view.pe, failed);
    if (failed)
        shmem_global_exit(1);
    shmumap(mapped);
    shmem_finalize();
    if (run.view.pe == 0)
        puts("ok");
}
