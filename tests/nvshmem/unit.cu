// SPDX-License-Identifier: BSD-3-Clause
//
// For nvshmem.test: a file of a program with kernels, which only has to compile and link. UNIT names what is in it, so that
// several of them make one program.

#include <nvshmem.h>
#include <nvshmemx.h>

#define JOINED(a, b) a##b
#define NAMED(a, b) JOINED(a, b)

__global__ void NAMED(kernel_, UNIT)(int *own)
{
    nvshmem_int_p(own, nvshmem_my_pe(), (nvshmem_my_pe() + 1) % nvshmem_n_pes());
    nvshmem_barrier_all();
}

/* A function for both sides, as libraries of templates have them. */
__host__ __device__ int NAMED(both_, UNIT)()
{
    return nvshmem_my_pe();
}

int NAMED(run_, UNIT)(int *own, cudaStream_t stream)
{
    void *arguments[] = {&own};
    int most = 0;
    nvshmemx_collective_launch_query_gridsize(reinterpret_cast<const void *>(NAMED(kernel_, UNIT)), dim3(1), arguments,
                                              0, &most);
    nvshmemx_barrier_all_on_stream(stream);
    return nvshmemx_collective_launch(reinterpret_cast<const void *>(NAMED(kernel_, UNIT)), dim3(1), dim3(1), arguments,
                                      0, stream) +
           NAMED(both_, UNIT)() + most;
}

#ifdef WITH_MAIN
int run_two(int *own, cudaStream_t stream);

int main()
{
    nvshmem_init();
    int *own = static_cast<int *>(nvshmem_malloc(sizeof(int)));
    const int status = run_one(own, 0) + run_two(own, 0);
    nvshmem_finalize();
    return status;
}
#endif
