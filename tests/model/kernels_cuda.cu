// SPDX-License-Identifier: BSD-3-Clause
//
// Kernels on a GPU, on mapped CUDA memory and the symmetric heap: the tester of GPU machines has this file instead of
// kernels_host.cc (bench/gpu-check).
#include "kernel_ops.h"

#include <cstdio>
#include <cstdlib>

namespace
{

__global__ void play_on_gpu(kernel_scene s)
{
    play_ops(s);
}

void use(cudaError_t rc, const char *what)
{
    if (rc == cudaSuccess)
        return;
    fprintf(stderr, "model: WRONG: %s: %s\n", what, cudaGetErrorString(rc));
    shmem_global_exit(1);
}

// Allocated once: freeing memory would wait for streams, which wait for other PEs.
enum { SCRATCH_MAX = 8 << 20, OPS_MAX = 64 };
unsigned char *scratch_on_gpu;
kernel_op *ops_on_gpu;
cudaStream_t stream;

bool prepare()
{
    if (scratch_on_gpu)
        return true;
    return cudaMalloc(reinterpret_cast<void **>(&scratch_on_gpu), SCRATCH_MAX) == cudaSuccess &&
           cudaMalloc(reinterpret_cast<void **>(&ops_on_gpu), OPS_MAX * sizeof *ops_on_gpu) == cudaSuccess &&
           cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
}

} // namespace

extern "C" int kernels_open(void)
{
    int n = 0;
    return cudaGetDeviceCount(&n) == cudaSuccess && n && shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA) &&
           cudaSetDevice(shmemx_my_device(OSHM_MEMTYPE_CUDA)) == cudaSuccess && prepare();
}

extern "C" int kernels_reach(int)
{
    return 1;
}

extern "C" void kernels_run(const struct kernel_scene *scene, unsigned long n, unsigned threads)
{
    kernel_scene s = *scene;
    s.scratch = scratch_on_gpu;
    s.ops = ops_on_gpu;
    if (n > SCRATCH_MAX || s.n_ops > OPS_MAX)
        use(cudaErrorInvalidValue, "size of a kernel step");
    use(cudaMemcpyAsync(s.scratch, scene->scratch, n, cudaMemcpyHostToDevice, stream), "copy to the GPU");
    use(cudaMemcpyAsync(ops_on_gpu, scene->ops, static_cast<unsigned long>(s.n_ops) * sizeof *s.ops,
                        cudaMemcpyHostToDevice, stream),
        "copy to the GPU");
    play_on_gpu<<<1, 32 * threads, 0, stream>>>(s);
    use(cudaGetLastError(), "launch");
    use(cudaMemcpyAsync(scene->scratch, s.scratch, n, cudaMemcpyDeviceToHost, stream), "copy from the GPU");
    use(cudaStreamSynchronize(stream), "kernel");
}
