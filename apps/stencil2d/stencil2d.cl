/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernel in OpenCL; frame.h and kernel.h follow. The options of the compiler say what REAL and SWEEP are.
 *
 * The frame does not wait here: a group that does could keep the one that it waits for from running.
 */
#pragma OPENCL FP_CONTRACT OFF
#ifdef NEEDS_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define KERNEL __kernel
#define FUNCTION static inline
#define GLOBAL __global
#define RESTRICT restrict
#define UNROLLED _Pragma("unroll")
#define GROUP_ID ((long)get_group_id(0))
#define LOCAL_COL ((int)get_local_id(0))
#define LOCAL_ROW ((int)get_global_id(1)) /* also where the device has cut a group's rows */
#define COLS OPENCL_PACK_COLS
#define ROWS OPENCL_PACK_ROWS

#define PACK pack_of_cells
#define PLAN const struct launch_plan
#define WORD ulong
#define wait_for_word(word, value)
#define meet_group()
#define count_done(word)
#define FOR_ANY_SINK
#define SINK int
#define OWN_MESSAGES 0
#define send_cell(sink, messages, direction, place, value) (messages)[place] = (value)

