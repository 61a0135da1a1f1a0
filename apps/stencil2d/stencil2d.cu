/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel in CUDA. Compile with --fmad=false: the check compares bit for bit.
 *
 * Here the frame can wait for signals itself, so that one launch follows the other without anything between them. A
 * group reads what it has seen arrive by ordinary loads, never through the read-only cache: messages is not restrict.
 *
 * The kernels that exchange by themselves are for compute capability 7.0 and above.
 */
#include "frame.h"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
#define CAN_COMMUNICATE
#include "shmemx_device.h"
#endif

/* Groups that shall fit into a multiprocessor at once; with more, each has too few registers. */
#if __CUDA_ARCH__ >= 800
#define GROUPS_AT_A_TIME 5
#else
#define GROUPS_AT_A_TIME 4
#endif

/* Lets the address of a parameter be taken without a copy, where compilers know this. */
#if __CUDACC_VER_MAJOR__ >= 12 && (!defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700)
#define BY_VALUE const __grid_constant__
#else
#define BY_VALUE const
#endif
#define PLAN BY_VALUE struct launch_plan
#define NEIGHBORS BY_VALUE struct neighbor_plan
#define VIEW BY_VALUE shmemx_device_view_t

#define KERNEL extern "C" __global__ __launch_bounds__(GROUP, GROUPS_AT_A_TIME)
#define WITH_STEP KERNEL
#define WITH_PERSIST extern "C" __global__ __launch_bounds__(GROUP, 4)
#define FUNCTION static __device__ __forceinline__
#define GLOBAL
#define RESTRICT __restrict__
#define UNROLLED _Pragma("unroll")
#define GROUP_ID ((long)blockIdx.x)
#define LOCAL_COL ((int)threadIdx.x)
#define LOCAL_ROW ((int)threadIdx.y)
#define N_GROUPS ((long)gridDim.x)
#define SHARED_PLANS(plan) __shared__ struct launch_plan plan[2]
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

/* ---- Where frames go ---------------------------------------------------------------------------------------------- */

struct own_messages {
};
#define OWN_MESSAGES own_messages()
#define FOR_ANY_SINK template <class SINK>

template <class T> FUNCTION void send_cell(own_messages, T *messages, int, long place, T value)
{
    messages[place] = value;
}

#ifdef CAN_COMMUNICATE
struct to_neighbors {
    const shmemx_device_view_t *view;
    const struct neighbor_plan *neighbors;
};

template <class T> FUNCTION void send_cell(to_neighbors to, T *messages, int direction, long place, T value)
{
    shmemx_device_p(*to.view, messages + place, value, to.neighbors->pe[direction]);
}

/* All groups of a launch meet: each counts itself. */
FUNCTION void meet_all_begin(WORD *word)
{
    asm volatile("red.release.gpu.global.add.u64 [%0], 1;" ::"l"(__cvta_generic_to_global(word)) : "memory");
}

FUNCTION void meet_all_end(const WORD *word, WORD value)
{
    WORD seen;

    do
        asm volatile("ld.acquire.gpu.global.u64 %0, [%1];"
                     : "=l"(seen)
                     : "l"(__cvta_generic_to_global(word))
                     : "memory");
    while (seen < value);
}
#endif

/* ---- Both precisions ---------------------------------------------------------------------------------------------- */

#define REAL float
#define SWEEP sweep_sp
#define PACK pack_sp
#define STEP step_sp
#define PERSIST persist_sp
#include "kernel.h"
#ifdef CAN_COMMUNICATE
#include "kernel_direct.h"
#endif
#undef REAL
#undef SWEEP
#undef PACK
#undef STEP
#undef PERSIST
#define REAL double
#define SWEEP sweep_dp
#define PACK pack_dp
#define STEP step_dp
#define PERSIST persist_dp
#include "kernel.h"
#ifdef CAN_COMMUNICATE
#include "kernel_direct.h"
#endif
