/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of the search in CUDA: how kernels.h is spelt here.
 */
typedef unsigned int u32;
typedef unsigned long long u64;

#include "layout.h"

/* The kernel that exchanges by itself is for compute capability 7.0 and above. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
#define CAN_COMMUNICATE
#include "shmemx_device.h"
#endif

#define KERNEL extern "C" __global__
#define DEVICE static __device__ __forceinline__
#define GLOBAL
#define LOCAL
#define SHARED __shared__
#define RESTRICT __restrict__
#define BARRIER() __syncthreads()

#define LANE threadIdx.x
#define LANES blockDim.x
#define GROUP ((u64)blockIdx.x)
#define GROUPS ((u64)gridDim.x)
#define GLOBAL_ID (GROUP * LANES + LANE)

#define ADD_GLOBAL_32(address, amount) atomicAdd(address, amount)
#define ADD_GLOBAL_64(address, amount) atomicAdd(address, amount)
#define ADD_LOCAL_32(address, amount) atomicAdd(address, amount)
#define ADD_LOCAL_64(address, amount) atomicAdd(address, amount)
#define OR_GLOBAL(address, bits) atomicOr(address, bits)
#define OR_LOCAL(address, bits) atomicOr(address, bits)
#define LOAD_CACHED(address) (*(address))
#define LOAD_UNCACHED(address) __ldcg(address)

#define NONE 0xffffffffu
#define MOST_LANES 256
#define PER_LANE 4 /* edges or vertices that a lane takes at once */
#define PIECE (MOST_LANES * PER_LANE)

#include "kernels.h"
#include "kernels_grid.h"

#ifdef CAN_COMMUNICATE
#define WITH_SEARCH extern "C" __global__ __launch_bounds__(MOST_LANES, 4)
#if __CUDACC_VER_MAJOR__ >= 12
#define VIEW const __grid_constant__ shmemx_device_view_t
#else
#define VIEW const shmemx_device_view_t
#endif
#define NOW_NS() clock_ns()

DEVICE u64 clock_ns(void)
{
    u64 now;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

DEVICE void meet_all_begin(u64 *word)
{
    asm volatile("red.release.gpu.global.add.u64 [%0], 1;" ::"l"(__cvta_generic_to_global(word)) : "memory");
}

DEVICE void meet_all_end(const u64 *word, u64 value)
{
    u64 seen;

    do
        asm volatile("ld.acquire.gpu.global.u64 %0, [%1];"
                     : "=l"(seen)
                     : "l"(__cvta_generic_to_global(word))
                     : "memory");
    while (seen < value);
}

#include "kernels_direct.h"
#endif
