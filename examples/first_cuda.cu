/* SPDX-License-Identifier: BSD-3-Clause
 *
 * first_cuda: every PE puts a row of numbers from its host memory into the GPU buffer of the next PE. With
 * OpenCL (first_opencl.c) the lines that have "cuda" in a name are different.
 *
 *     nvcc -ccbin oshc++ -o first_cuda first_cuda.cu
 *     oshrun -n 2 ./first_cuda
 */
#include <cuda_runtime.h>
#include <shmemx.h>
#include <stdio.h>

enum { N = 1024, BYTES = N * sizeof(double) };

int main(void)
{
    double row[N];
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n, previous = (me + n - 1) % n;
    double *buffer;
    cudaSetDevice(shmemx_my_device(OSHM_MEMTYPE_CUDA));
    cudaMalloc((void **)&buffer, BYTES);
    double *mapped = (double *)shmmap(buffer, BYTES, OSHM_MEMTYPE_CUDA);
    if (!mapped) shmem_global_exit(1); /* shmmap has printed the reason */
    for (int i = 0; i < N; i++) row[i] = 1000 * me + i;
    shmem_double_put(mapped, row, N, next); /* into the GPU memory of the next PE */
    shmem_barrier_all();
    cudaMemcpy(row, buffer, BYTES, cudaMemcpyDefault);
    int wrong = row[0] != 1000 * previous || row[N - 1] != 1000 * previous + N - 1;
    printf("PE %d: my buffer holds %.0f to %.0f: %s\n", me, row[0], row[N - 1], wrong ? "WRONG" : "verified");
    shmumap(mapped);
    cudaFree(buffer);
    shmem_finalize();
    return wrong;
}
