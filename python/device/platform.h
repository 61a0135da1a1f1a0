/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What shmemx_device.h uses of CUDA's own headers, so that clang makes bitcode of it without a CUDA toolkit; and what the
 * functions that make.py writes are made of. A compiler for the CPU takes them for threads that play those of a GPU: it
 * is given from_half, to_half and __assertfail by who compiles them so.
 */
#ifndef MAPSHMEM_PY_PLATFORM_H
#define MAPSHMEM_PY_PLATFORM_H

#ifdef __CUDA__
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __CUDACC_RTC__ /* no header of the host */
#include <__clang_cuda_builtin_vars.h>

typedef decltype(sizeof(0)) size_t;
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

static __device__ inline float from_half(unsigned short bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

static __device__ inline unsigned short to_half(float value)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
#else
#define __device__
#endif

#include <shmemx_device.h>

typedef unsigned long long address;

/* Numbers of 16 bits. The result of each operation is rounded to nearest, ties to even: single precision has more than
 * twice their digits, so it is as if it had been rounded once. */
struct float16 {
    unsigned short bits;
    float16() = default;
    __device__ explicit float16(float value) : bits(to_half(value))
    {
    }
    __device__ operator float() const
    {
        return from_half(bits);
    }
};

struct bfloat16 {
    unsigned short bits;
    bfloat16() = default;
    __device__ explicit bfloat16(float value)
    {
        unsigned word;
        __builtin_memcpy(&word, &value, sizeof word);
        const bool is_nan = value != value;
        bits = (unsigned short)(is_nan ? word >> 16 | 0x40u : (word + 0x7fffu + (word >> 16 & 1u)) >> 16);
    }
    __device__ operator float() const
    {
        const unsigned word = (unsigned)bits << 16;
        float value;
        __builtin_memcpy(&value, &word, sizeof value);
        return value;
    }
};

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
