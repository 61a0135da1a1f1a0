/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ring_kernel: a kernel puts a row into the GPU memory of the next PE by itself, and waits for the row of the PE before
 * it. Each PE needs a GPU of its own, or MPS, since kernels wait for each other.
 *
 *     nvcc -ccbin oshc++ -o ring_kernel ring_kernel.cu
 *     oshrun -n 2 ./ring_kernel
 */
#include <shmemx_device.h>
#include <cstdio>

struct exchange {
    double row[256];
    unsigned long arrived;
};

__global__ void put_to_next(exchange *own, double *row, shmemx_device_view_t view)
{
    const shmemx_device_block_t block;
    const int next = (view.pe + 1) % view.n_pes;
    row[threadIdx.x] = 1000 * view.pe + threadIdx.x;
    __syncthreads();
    shmemx_device_put_signal(block, view, own->row, row, 256, &own->arrived, 1, SHMEM_SIGNAL_SET, next);
    shmemx_device_signal_wait_until(block, view, &own->arrived, SHMEM_CMP_EQ, 1);
    row[threadIdx.x] = own->row[threadIdx.x];
}

int main()
{
    shmem_init();
    const int me = shmem_my_pe(), n = shmem_n_pes(), previous = (me + n - 1) % n;
    cudaSetDevice(shmemx_my_device(OSHM_MEMTYPE_CUDA));
    exchange *own;
    double *row, result[256] = {};
    cudaMalloc((void **)&own, sizeof *own);
    cudaMalloc((void **)&row, sizeof result);
    cudaMemset(own, 0, sizeof *own);
    cudaDeviceSynchronize();
    void *mapped = shmmap(own, sizeof *own, OSHM_MEMTYPE_CUDA);
    shmemx_device_view_t view;
    if (!mapped || shmemx_device_view(mapped, &view)) shmem_global_exit(1); /* a line on stderr has said why */
    if (!shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA)) shmem_global_exit(77); /* they would wait for ever */
    shmem_barrier_all();
    put_to_next<<<1, 256>>>(own, row, view);
    cudaMemcpy(result, row, sizeof result, cudaMemcpyDefault);
    const bool wrong = result[0] != 1000 * previous || result[255] != 1000 * previous + 255;
    printf("PE %d: %.0f to %.0f: %s\n", me, result[0], result[255], wrong ? "WRONG" : "verified");
    shmem_barrier_all();
    shmumap(mapped);
    shmem_finalize();
    return wrong;
}
