/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The platform under shmemx_device.h: kernels of CUDA (nvcc, NVRTC, clang), for devices of compute capability 7.0 and above.
 * Orders are those of the PTX memory model, for the whole system. device_host.h has the same functions for threads of a CPU.
 */
#ifndef MAPSHMEM_DEVICE_CUDA_H
#define MAPSHMEM_DEVICE_CUDA_H

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700
#error "shmemx_device.h: kernels need compute capability 7.0 or above: nvcc -arch=sm_70 or a later one"
#endif

#if defined(CUDART_VERSION) && !defined(__CUDACC_RTC__)
#include <errno.h>
#include <stdio.h>
#endif

#define SHMEMI_DEVICE static __device__ __forceinline__
#define SHMEMI_DEVICE_MEMBER __device__ __forceinline__
#define SHMEMI_DEVICE_TEMPLATE __device__ __forceinline__
/* Less code by a call; not where that follows the ABI, and takes more than the 64 registers of 1024 threads. */
#if defined(__CUDACC_RDC__)
#define SHMEMI_DEVICE_RARE SHMEMI_DEVICE
#else
#define SHMEMI_DEVICE_RARE static inline __device__ __attribute__((noinline))
#endif
#define SHMEMI_DEVICE_KEPT volatile
#define SHMEMI_DEVICE_AS_IT_IS _Pragma("unroll 1") /* more of a loop at a time would take more registers */

/* ---- Groups: who makes a call together ---------------------------------------------------------------------------
 * share: the value that the thread with rank 0 has. Before, the group calls ready, or meets in another way. */
struct shmemx_device_thread_t {
    SHMEMI_DEVICE_MEMBER unsigned rank() const
    {
        return 0;
    }
    SHMEMI_DEVICE_MEMBER unsigned size() const
    {
        return 1;
    }
    SHMEMI_DEVICE_MEMBER void sync() const
    {
    }
    SHMEMI_DEVICE_MEMBER void ready() const
    {
    }
    SHMEMI_DEVICE_MEMBER unsigned long long share(unsigned long long value) const
    {
        return value;
    }
};

struct shmemx_device_block_t {
    SHMEMI_DEVICE_MEMBER unsigned rank() const
    {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    SHMEMI_DEVICE_MEMBER unsigned size() const
    {
        return blockDim.x * blockDim.y * blockDim.z;
    }
    SHMEMI_DEVICE_MEMBER void sync() const
    {
        __syncthreads();
    }
    SHMEMI_DEVICE_MEMBER void ready() const
    {
        sync(); /* all have read what was shared before */
    }
    SHMEMI_DEVICE_MEMBER unsigned long long share(unsigned long long value) const
    {
        __shared__ unsigned long long box;
        if (rank() == 0)
            box = value;
        sync();
        return box;
    }
};

struct shmemx_device_warp_t {
    SHMEMI_DEVICE_MEMBER unsigned rank() const
    {
        return shmemx_device_block_t().rank() % 32;
    }
    SHMEMI_DEVICE_MEMBER unsigned size() const
    {
        const shmemx_device_block_t block;
        const unsigned left = block.size() - block.rank() / 32 * 32;
        return left < 32 ? left : 32;
    }
    /* With the full mask, whether the block has threads for all lanes or not: a constant mask needs no vote of the warp. */
    SHMEMI_DEVICE_MEMBER void sync() const
    {
        __syncwarp(0xffffffffu);
    }
    SHMEMI_DEVICE_MEMBER void ready() const
    {
    }
    SHMEMI_DEVICE_MEMBER unsigned long long share(unsigned long long value) const
    {
        value = __shfl_sync(0xffffffffu, value, 0);
        sync(); /* which orders memory, too */
        return value;
    }
};

namespace shmemi_device
{

typedef unsigned long long word;
typedef unsigned int half;

/* The threads of a warp that happen to be here at the same time. */
struct companions {
    unsigned members;
    SHMEMI_DEVICE_MEMBER companions()
    {
        asm volatile("activemask.b32 %0;" : "=r"(members));
    }
    static SHMEMI_DEVICE_MEMBER unsigned count(unsigned lanes)
    {
        unsigned n;
        asm("popc.b32 %0, %1;" : "=r"(n) : "r"(lanes));
        return n;
    }
    SHMEMI_DEVICE_MEMBER unsigned size() const
    {
        return count(members);
    }
    SHMEMI_DEVICE_MEMBER unsigned rank() const
    {
        unsigned below;
        asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
        return count(members & below);
    }
    SHMEMI_DEVICE_MEMBER word share(word value) const
    {
        const unsigned first = count((members & (0u - members)) - 1u);
        return __shfl_sync(members, value, static_cast<int>(first));
    }
    SHMEMI_DEVICE_MEMBER bool agree(word value) const /* is it the same for all? */
    {
        half which;
        asm volatile("match.all.sync.b64 %0, %1, %2;" : "=r"(which) : "l"(value), "r"(members));
        return which != 0;
    }
    SHMEMI_DEVICE_MEMBER void sync() const
    {
        __syncwarp(members); /* which orders memory, too */
    }
};
struct alignas(16) quad {
    word low, high;
};

/* ---- Words that others change ------------------------------------------------------------------------------------ */

#define SHMEMI_DEVICE_WORDS(TYPE, BITS, REGISTER)                                                                      \
    SHMEMI_DEVICE TYPE load_relaxed(const TYPE *p)                                                                     \
    {                                                                                                                  \
        TYPE value;                                                                                                    \
        asm volatile("ld.relaxed.sys.b" BITS " %0, [%1];" : "=" REGISTER(value) : "l"(p) : "memory");                  \
        return value;                                                                                                  \
    }                                                                                                                  \
    SHMEMI_DEVICE TYPE load_acquire(const TYPE *p)                                                                     \
    {                                                                                                                  \
        TYPE value;                                                                                                    \
        asm volatile("ld.acquire.sys.b" BITS " %0, [%1];" : "=" REGISTER(value) : "l"(p) : "memory");                  \
        return value;                                                                                                  \
    }                                                                                                                  \
    SHMEMI_DEVICE void store_relaxed(TYPE *p, TYPE value)                                                              \
    {                                                                                                                  \
        asm volatile("st.relaxed.sys.b" BITS " [%0], %1;" ::"l"(p), REGISTER(value) : "memory");                       \
    }                                                                                                                  \
    SHMEMI_DEVICE void store_release(TYPE *p, TYPE value)                                                              \
    {                                                                                                                  \
        asm volatile("st.release.sys.b" BITS " [%0], %1;" ::"l"(p), REGISTER(value) : "memory");                       \
    }                                                                                                                  \
    SHMEMI_DEVICE TYPE fetch_swap(TYPE *p, TYPE value)                                                                 \
    {                                                                                                                  \
        TYPE old;                                                                                                      \
        asm volatile("atom.relaxed.sys.exch.b" BITS " %0, [%1], %2;"                                                   \
                     : "=" REGISTER(old)                                                                               \
                     : "l"(p), REGISTER(value)                                                                         \
                     : "memory");                                                                                      \
        return old;                                                                                                    \
    }                                                                                                                  \
    SHMEMI_DEVICE TYPE fetch_compare_swap(TYPE *p, TYPE expected, TYPE value)                                          \
    {                                                                                                                  \
        TYPE old;                                                                                                      \
        asm volatile("atom.relaxed.sys.cas.b" BITS " %0, [%1], %2, %3;"                                                \
                     : "=" REGISTER(old)                                                                               \
                     : "l"(p), REGISTER(expected), REGISTER(value)                                                     \
                     : "memory");                                                                                      \
        return old;                                                                                                    \
    }

/* Two forms of each: one returns the old value, the other is only sent. */
#define SHMEMI_DEVICE_UPDATE(NAME, OPERATION, KIND, TYPE, BITS, REGISTER)                                              \
    SHMEMI_DEVICE TYPE fetch_##NAME(TYPE *p, TYPE value)                                                               \
    {                                                                                                                  \
        TYPE old;                                                                                                      \
        asm volatile("atom.relaxed.sys." OPERATION "." KIND BITS " %0, [%1], %2;"                                      \
                     : "=" REGISTER(old)                                                                               \
                     : "l"(p), REGISTER(value)                                                                         \
                     : "memory");                                                                                      \
        return old;                                                                                                    \
    }                                                                                                                  \
    SHMEMI_DEVICE void send_##NAME(TYPE *p, TYPE value)                                                                \
    {                                                                                                                  \
        asm volatile("red.relaxed.sys." OPERATION "." KIND BITS " [%0], %1;" ::"l"(p), REGISTER(value) : "memory");    \
    }

#define SHMEMI_DEVICE_UPDATES(TYPE, BITS, REGISTER)                                                                    \
    SHMEMI_DEVICE_WORDS(TYPE, BITS, REGISTER)                                                                          \
    SHMEMI_DEVICE_UPDATE(add, "add", "u", TYPE, BITS, REGISTER)                                                        \
    SHMEMI_DEVICE_UPDATE(and, "and", "b", TYPE, BITS, REGISTER)                                                        \
    SHMEMI_DEVICE_UPDATE(or, "or", "b", TYPE, BITS, REGISTER)                                                          \
    SHMEMI_DEVICE_UPDATE(xor, "xor", "b", TYPE, BITS, REGISTER)

SHMEMI_DEVICE_UPDATES(word, "64", "l")
SHMEMI_DEVICE_UPDATES(half, "32", "r")

SHMEMI_DEVICE_UPDATE(add, "add", "f", float, "32", "f")
SHMEMI_DEVICE_UPDATE(add, "add", "f", double, "64", "d")

#undef SHMEMI_DEVICE_UPDATES
#undef SHMEMI_DEVICE_UPDATE
#undef SHMEMI_DEVICE_WORDS

/* Words of 16 bits are waited for and put. */
SHMEMI_DEVICE void store_relaxed(unsigned short *p, unsigned short value)
{
    asm volatile("st.relaxed.sys.b16 [%0], %1;" ::"l"(p), "h"(value) : "memory");
}
SHMEMI_DEVICE unsigned short load_acquire(const unsigned short *p)
{
    unsigned short value;
    asm volatile("ld.acquire.sys.b16 %0, [%1];" : "=h"(value) : "l"(p) : "memory");
    return value;
}

/* Makes what store_after_fence stores next a release among the threads of this GPU, and behind fence_system one for all. The
 * fence is apart from the store because a store under a condition stays one instruction; a release store becomes a branch. */
SHMEMI_DEVICE void fence_near()
{
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}
SHMEMI_DEVICE void store_after_fence(word *p, word value)
{
    store_relaxed(p, value);
}
/* A load that, with a fence behind it, is an acquire among the threads of this GPU; the fence may begin before it has ended. */
SHMEMI_DEVICE word load_before_fence(const word *p)
{
    return load_relaxed(p);
}

/* Compare and swap of a word in this GPU's memory, among its threads: true if the word was as expected. The instruction is for
 * global memory only; the one for any address becomes a branch, since it may be shared memory. */
SHMEMI_DEVICE bool replace_near(word *p, word expected, word value)
{
    word old;
    asm volatile("{ .reg .b64 at; cvta.to.global.u64 at, %1; atom.relaxed.gpu.global.cas.b64 %0, [at], %2, %3; }"
                 : "=l"(old)
                 : "l"(p), "l"(expected), "l"(value)
                 : "memory");
    return old == expected;
}

/* A signal that is added to what is there, after all that was ordered before it. */
SHMEMI_DEVICE void send_add_release(word *p, word value)
{
    asm volatile("red.release.sys.add.u64 [%0], %1;" ::"l"(p), "l"(value) : "memory");
}

/* Orders everything before it, and everything that was seen, before everything after it. */
SHMEMI_DEVICE void fence_system()
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/* A fence of the system that all its users see in one order: what is before it comes before later loads as well. */
SHMEMI_DEVICE void fence_sequential()
{
    asm volatile("fence.sc.sys;" ::: "memory");
}

enum { turns_between_looks = 1024 }; /* at the clock, in a loop that waits */

/* How a thread waits, from one look at a word to the next. It does not sleep: while a thread of a warp waited in a loop
 * with nanosleep, others of the same warp that had gone another way did not run on, one with an entry for the agent that
 * it had taken and not yet written (bench/log/kernels.md). */
struct patience {
    SHMEMI_DEVICE_MEMBER void relax()
    {
    }
};

/* ---- Data -------------------------------------------------------------------------------------------------------- */

template <class UNIT> SHMEMI_DEVICE_TEMPLATE UNIT load_plain(const char *p)
{
    return *reinterpret_cast<const UNIT *>(p);
}

template <class UNIT> SHMEMI_DEVICE_TEMPLATE void store_plain(char *p, UNIT value)
{
    *reinterpret_cast<UNIT *>(p) = value;
}

/* Memory of another PE: never from a cache of this multiprocessor, which may hold what was there before. */
template <class UNIT> struct fresh;
template <> struct fresh<quad> {
    static SHMEMI_DEVICE_MEMBER quad load(const char *p)
    {
        quad value;
        asm volatile("ld.relaxed.sys.v2.b64 {%0, %1}, [%2];" : "=l"(value.low), "=l"(value.high) : "l"(p) : "memory");
        return value;
    }
};
template <> struct fresh<word> {
    static SHMEMI_DEVICE_MEMBER word load(const char *p)
    {
        return load_relaxed(reinterpret_cast<const word *>(p));
    }
};
template <> struct fresh<half> {
    static SHMEMI_DEVICE_MEMBER half load(const char *p)
    {
        return load_relaxed(reinterpret_cast<const half *>(p));
    }
};
template <> struct fresh<unsigned short> {
    static SHMEMI_DEVICE_MEMBER unsigned short load(const char *p)
    {
        unsigned short value;
        asm volatile("ld.relaxed.sys.b16 %0, [%1];" : "=h"(value) : "l"(p) : "memory");
        return value;
    }
};
template <> struct fresh<unsigned char> {
    static SHMEMI_DEVICE_MEMBER unsigned char load(const char *p)
    {
        half value;
        asm volatile("ld.relaxed.sys.b8 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
        return static_cast<unsigned char>(value);
    }
};

/* Whether the host reaches it, too. What only a block or a thread has (shared and local memory) it does not. */
SHMEMI_DEVICE bool host_reaches(const void *p)
{
    half is_global;
    asm("{ .reg .pred is; isspacep.global is, %1; selp.u32 %0, 1, 0, is; }" : "=r"(is_global) : "l"(p));
    return is_global;
}

/* Nanoseconds from some moment on. */
SHMEMI_DEVICE word clock_ns()
{
    word now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

SHMEMI_DEVICE unsigned block_number()
{
    return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

/* End the kernel, and with it the program's context: an argument is wrong, or there is no way to that memory. */
SHMEMI_DEVICE void give_up(const char *)
{
    asm volatile("trap;");
}

} // namespace shmemi_device

/* ---- The host's side of nvcc's files ----------------------------------------------------------------------------- */

#if defined(CUDART_VERSION) && !defined(__CUDACC_RTC__)
template <class KERNEL> inline int shmemx_device_max_blocks(KERNEL *kernel, int threads_per_block, size_t shared_bytes)
{
    int device = 0, multiprocessors = 0, blocks = 0;
    cudaError_t rc = cudaGetDevice(&device);
    if (rc == cudaSuccess)
        rc = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (rc == cudaSuccess)
        rc = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reinterpret_cast<const void *>(kernel),
                                                           threads_per_block, shared_bytes);
    blocks = (multiprocessors * blocks - shmemx_device_spare_blocks()) / shmemx_device_sharers();
    if (rc == cudaSuccess)
        return blocks > 0 ? blocks : 0;
    fprintf(stderr, "shmemx_device_max_blocks: %s\n", cudaGetErrorString(rc));
    return -EINVAL;
}
#endif

#endif
