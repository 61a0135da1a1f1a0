// SPDX-License-Identifier: BSD-3-Clause
//
// The names without a type in a CUDA file, beside a kernel: headers.test compiles it with nvcc.
#include <shmemx.h>

#if __has_include(<thrust/complex.h>)
#include <thrust/complex.h>
typedef thrust::complex<double> complex_number;
#else
#include <complex>
typedef std::complex<double> complex_number;
#endif

__global__ void fill(double *row, double value)
{
    row[threadIdx.x] = value;
}

int main()
{
    static complex_number sum, number;
    static unsigned long counter;
    double *buffer;
    shmem_init();
    cudaSetDevice(shmemx_my_device(OSHM_MEMTYPE_CUDA));
    cudaMalloc(reinterpret_cast<void **>(&buffer), 64 * sizeof *buffer);
    double *mapped = static_cast<double *>(shmmap(buffer, 64 * sizeof *buffer, OSHM_MEMTYPE_CUDA));
    fill<<<1, 32>>>(buffer, shmem_my_pe());
    cudaDeviceSynchronize();
    shmem_put(mapped + 32, buffer, 32, (shmem_my_pe() + 1) % shmem_n_pes());
    shmem_put_nbi(SHMEM_CTX_DEFAULT, mapped + 32, buffer, 32, 0);
    shmem_atomic_add(&counter, 1, 0);
    shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &number, 1);
    shmem_barrier_all();
    shmumap(mapped);
    shmem_finalize();
}
