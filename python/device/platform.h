/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What shmemx_device.h uses of CUDA's own headers, so that clang makes bitcode of it without a CUDA toolkit; and what the
 * functions that make.py writes are made of.
 */
#ifndef MAPSHMEM_PY_PLATFORM_H
#define MAPSHMEM_PY_PLATFORM_H

#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __CUDACC_RTC__ /* no header of the host */
#include <__clang_cuda_builtin_vars.h>

typedef decltype(sizeof(0)) size_t;
typedef unsigned long long address;

static __device__ inline void __syncwarp(unsigned mask)
{
    __nvvm_bar_warp_sync(mask);
}

static __device__ inline unsigned long long __shfl_sync(unsigned mask, unsigned long long value, int lane)
{
    const int high = __nvvm_shfl_sync_idx_i32(mask, (int)(value >> 32), lane, 31);
    const int low = __nvvm_shfl_sync_idx_i32(mask, (int)value, lane, 31);
    return (unsigned long long)(unsigned)high << 32 | (unsigned)low;
}

#include <shmemx_device.h>

template <class T> __device__ inline T *at(address word)
{
    return (T *)word;
}

static __device__ inline unsigned long *word_at(address signal)
{
    return (unsigned long *)signal;
}

/* A debug build ends the kernel with a line that names the call and what is wrong, where another one would write somewhere. */
extern "C" __device__ void __assertfail(const char *message, const char *file, unsigned line, const char *function,
                                        size_t char_size) __attribute__((noreturn));

#ifdef MAPSHMEM_DEVICE_DEBUG
static __device__ inline void require(bool is_right, const char *message, const char *call, int pe)
{
    if (!is_right)
        __assertfail(message, "PE", (unsigned)pe, call, 1);
}
#else
static __device__ inline void require(bool, const char *, const char *, int)
{
}
#endif

static __device__ inline bool is_inside(const shmemx_device_view_t &view, address first, size_t nbytes)
{
    const address offset = first - (address)view.own;
    return offset <= view.size && nbytes <= view.size - offset;
}

#endif
