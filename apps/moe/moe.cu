/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A mixture of experts on a CUDA GPU.
 */
#include "kernel.h"

#include <cuda_runtime.h>
#include <stdio.h>

enum { THREADS = 128 };

static void *mapped;

extern "C" const char moe_name[] = "moe_cuda";

static __global__ void run_layer(struct moe_layer layer, shmemx_device_view_t view, unsigned long number)
{
    moe(layer, view, number);
}

static void need(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "PE %d: %s: %s\n", shmem_my_pe(), what, cudaGetErrorString(status));
    shmem_global_exit(1);
}

int moe_open(void)
{
    const int device = shmemx_my_device(OSHM_MEMTYPE_CUDA);
    if (device < 0) {
        printf("PE %d has no CUDA GPU\n", shmem_my_pe());
        return -1;
    }
    need(cudaSetDevice(device), "cudaSetDevice");
    return 0;
}

void *moe_memory(size_t nbytes)
{
    void *memory = NULL;
    need(cudaMalloc(&memory, nbytes), "cudaMalloc");
    need(cudaMemset(memory, 0, nbytes), "cudaMemset");
    need(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return memory;
}

void *moe_symmetric(size_t nbytes, shmemx_device_view_t *view)
{
    void *memory = moe_memory(nbytes);
    mapped = shmmap(memory, nbytes, OSHM_MEMTYPE_CUDA);
    if (!mapped || shmemx_device_view(mapped, view))
        shmem_global_exit(1); /* the library has printed the reason */
    if (!shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA)) {
        fprintf(stderr, "PEs that share a GPU need NVIDIA's MPS: their kernels wait for each other\n");
        shmem_global_exit(77);
    }
    return memory;
}

void moe_end(void *memory)
{
    shmumap(mapped);
    moe_free(memory);
}

void moe_free(void *memory)
{
    need(cudaFree(memory), "cudaFree");
}

void moe_copy(void *dest, const void *source, size_t nbytes)
{
    need(cudaMemcpy(dest, source, nbytes, cudaMemcpyDefault), "cudaMemcpy");
}

int moe_blocks(void)
{
    return shmemx_device_max_blocks(run_layer, THREADS, 0);
}

void moe_run(const struct moe_layer *layer, const shmemx_device_view_t *view, int n_blocks, unsigned long first,
             int n_layers)
{
    for (int i = 0; i < n_layers; i++)
        run_layer<<<n_blocks, THREADS>>>(*layer, *view, first + (unsigned long)i);
    need(cudaGetLastError(), "kernel");
}

void moe_finish(void)
{
    need(cudaDeviceSynchronize(), "layers");
}
