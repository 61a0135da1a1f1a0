// SPDX-License-Identifier: BSD-3-Clause
//
// The names without a type in a CUDA file, beside a kernel: headers.test compiles it with nvcc; where there is a GPU,
// cuda.test runs it. Status 1: what the PE before has put is not there.
#include <cuda_fp16.h>
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
    static __half halves[2];
    double *buffer;
    shmem_init();
    cudaSetDevice(shmemx_my_device(OSHM_MEMTYPE_CUDA));
    cudaMalloc(reinterpret_cast<void **>(&buffer), 64 * sizeof *buffer);
    double *mapped = static_cast<double *>(shmmap(buffer, 64 * sizeof *buffer, OSHM_MEMTYPE_CUDA));
    fill<<<1, 32>>>(buffer, shmem_my_pe());
    cudaDeviceSynchronize();
    int me = shmem_my_pe(), n_pes = shmem_n_pes();
    shmem_put(mapped + 32, buffer, 16, (me + 1) % n_pes);
    shmem_put_nbi(SHMEM_CTX_DEFAULT, mapped + 48, buffer, 16, (me + 1) % n_pes);
    shmem_atomic_add(&counter, 1, 0);
    number = 1;
    shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &number, 1);
    shmemx_half_max_reduce(SHMEM_TEAM_WORLD, halves + 1, halves, 1);
    shmem_barrier_all();
    double got[64];
    cudaMemcpy(got, buffer, sizeof got, cudaMemcpyDefault);
    bool is_right = sum.real() == n_pes && (me > 0 || counter == static_cast<unsigned long>(n_pes));
    for (int i = 32; i < 64; i++)
        is_right = is_right && got[i] == (me + n_pes - 1) % n_pes;
    shmumap(mapped);
    shmem_finalize();
    return is_right ? 0 : 1;
}
