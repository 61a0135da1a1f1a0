/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of the search in CUDA: how kernels.h is spelt here.
 */
typedef unsigned int u32;
typedef unsigned long long u64;

#include "layout.h"

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
