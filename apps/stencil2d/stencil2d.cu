/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel in CUDA. Compile with --fmad=false: the check compares bit for bit.
 *
 * Here the frame can wait for signals itself, so that one launch follows the other without anything between them. What
 * a group has seen arrive it reads by ordinary loads, never through the read-only cache: messages is not restrict.
 */
#include "frame.h"

/* So many groups shall fit into a multiprocessor at a time: more have too few registers. */
#if __CUDA_ARCH__ >= 800
#define GROUPS_AT_A_TIME 5
#else
#define GROUPS_AT_A_TIME 4
#endif

/* Its address can be taken without a copy, where that is known. */
#if __CUDACC_VER_MAJOR__ >= 12 && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700)
#define PLAN const __grid_constant__ struct launch_plan
#else
#define PLAN const struct launch_plan
#endif

#define KERNEL extern "C" __global__ __launch_bounds__(GROUP, GROUPS_AT_A_TIME)
#define FUNCTION static __device__ __forceinline__
#define GLOBAL
#define RESTRICT __restrict__
#define UNROLLED _Pragma("unroll")
#define GROUP_ID ((long)blockIdx.x)
#define LOCAL_COL ((int)threadIdx.x)
#define LOCAL_ROW ((int)threadIdx.y)
#define COLS (CUDA_PACK_BYTES / (int)sizeof(REAL))
#define ROWS CUDA_PACK_ROWS

typedef unsigned long long WORD;

FUNCTION void wait_for_word(const WORD *word, long value)
{
    while (*(volatile const WORD *)word < (WORD)value)
        ;
    __threadfence_system();
}

FUNCTION void meet_group(void)
{
    __syncthreads();
}

/* What all threads of the group have written is there before the count is. */
FUNCTION void count_done(WORD *word)
{
    __threadfence_system();
    atomicAdd(word, 1ULL);
}

#define REAL float
#define SWEEP sweep_sp
#define PACK pack_sp
#include "kernel.h"
#undef REAL
#undef SWEEP
#undef PACK
#define REAL double
#define SWEEP sweep_dp
#define PACK pack_dp
#include "kernel.h"
