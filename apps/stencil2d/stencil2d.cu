/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel in CUDA. Compile with --fmad=false: the check compares bit for bit.
 *
 * Here the frame can wait for signals itself, so that one launch follows the other without anything between them. A
 * group reads what it has seen arrive by ordinary loads, never through the read-only cache: messages is not restrict.
 */
#include "frame.h"

/* Groups that shall fit into a multiprocessor at once; with more, each has too few registers. */
#if __CUDA_ARCH__ >= 800
#define GROUPS_AT_A_TIME 5
#else
#define GROUPS_AT_A_TIME 4
#endif

/* Lets the address of a parameter be taken without a copy, where compilers know this. */
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

/* All that the group's threads have written is visible before the count. */
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
