/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of the search in OpenCL 1.2: how kernels.h is spelt here. The build puts layout.h and kernels.h behind
 * it.
 */
#ifndef cl_khr_int64_base_atomics
#error the search needs atomic operations of 64 bits (cl_khr_int64_base_atomics), which this device lacks
#endif
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

typedef uint u32;
typedef ulong u64;

#define KERNEL __kernel
#define DEVICE static inline
#define GLOBAL __global
#define LOCAL __local
#define SHARED __local
#define RESTRICT restrict
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)

#define LANE ((u32)get_local_id(0))
#define LANES ((u32)get_local_size(0))
#define GROUP get_group_id(0)
#define GROUPS get_num_groups(0)
#define GLOBAL_ID get_global_id(0)

#define ADD_GLOBAL_32(address, amount) atomic_add(address, amount)
#define ADD_GLOBAL_64(address, amount) atom_add(address, amount)
#define ADD_LOCAL_32(address, amount) atomic_add(address, amount)
#define ADD_LOCAL_64(address, amount) atom_add(address, amount)
#define OR_GLOBAL(address, bits) atomic_or(address, bits)
#define OR_LOCAL(address, bits) atomic_or(address, bits)
#define LOAD_CACHED(address) (*(address))
#define LOAD_UNCACHED(address) (*(address))

#define NONE 0xffffffffu
#define MOST_LANES 64
#define PER_LANE 4 /* edges or vertices that a lane takes at once */
#define PIECE (MOST_LANES * PER_LANE)
