/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gpu.h over the CUDA runtime.
 */
#define KERNELS(...) __VA_ARGS__
#define KERNEL extern "C" __global__ void
#define GLOBAL
#define INDEX (int)(blockIdx.x * blockDim.x + threadIdx.x)
#define ATOMIC_ADD(address, value) atomicAdd(address, value)
#define ATOMIC_MIN(address, value) atomicMin(address, value)
#define ATOMIC_SET(address, value) atomicExch(address, value)

#define DEVICE(type) type *
#define ARGUMENT(variable) (variable)
#define LAUNCH(kernel, n, ...)                                                                                         \
    do {                                                                                                               \
        kernel<<<((unsigned)(n) + 127) / 128, 128, 0, gpu_stream>>>(__VA_ARGS__);                                      \
        GPU_CALL(cudaGetLastError());                                                                                  \
    } while (0)

#define MAP(buffer, bytes) shmmap(buffer, bytes, OSHM_MEMTYPE_CUDA)
#define MAP_TYPE OSHM_MEMTYPE_CUDA
#define PUT_SIGNAL_IN_ORDER(...) shmemx_putmem_signal_on_stream(__VA_ARGS__, gpu_stream)
#define WAIT_IN_ORDER(...) shmemx_signal_wait_until_on_stream(__VA_ARGS__, gpu_stream)

static cudaStream_t gpu_stream;

static inline void gpu_open(int index)
{
    int n = 0;

    if (cudaGetDeviceCount(&n) != cudaSuccess || n == 0 || index < 0) {
        fprintf(stderr, "no CUDA device\n");
        exit(77);
    }
    GPU_CALL(cudaSetDevice(index % n));
    GPU_CALL(cudaStreamCreateWithFlags(&gpu_stream, cudaStreamNonBlocking));
}

static inline void *gpu_alloc(size_t bytes)
{
    void *buffer;

    GPU_CALL(cudaMalloc(&buffer, bytes));
    return buffer;
}

static inline void gpu_free(void *buffer)
{
    GPU_CALL(cudaFree(buffer));
}

static inline void gpu_wait(void)
{
    GPU_CALL(cudaStreamSynchronize(gpu_stream));
}

static inline void gpu_in(void *buffer, struct block b, const void *host)
{
    GPU_CALL(cudaMemcpy2DAsync((char *)buffer + b.offset, b.pitch, host, b.width, b.width, b.height, cudaMemcpyDefault,
                               gpu_stream));
    gpu_wait();
}

static inline void gpu_out(void *host, const void *buffer, struct block b)
{
    GPU_CALL(cudaMemcpy2DAsync(host, b.width, (const char *)buffer + b.offset, b.pitch, b.width, b.height,
                               cudaMemcpyDefault, gpu_stream));
    gpu_wait();
}
