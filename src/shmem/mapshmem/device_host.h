/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The platform under shmemx_device.h for C++11 without a GPU: threads of the CPU, which shmemx_device_host_launch starts, play
 * those of blocks, so that the code of a kernel can be run, tested and watched by a sanitizer. device_cuda.h is that of kernels.
 */
#ifndef MAPSHMEM_DEVICE_HOST_H
#define MAPSHMEM_DEVICE_HOST_H

#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <thread>
#include <vector>

#define SHMEMI_DEVICE static inline
#define SHMEMI_DEVICE_MEMBER inline
#define SHMEMI_DEVICE_TEMPLATE inline
#define SHMEMI_DEVICE_RARE static inline
#define SHMEMI_DEVICE_KEPT /* on GPUs, in memory of the thread: it has 64 registers in a block of 1024 */
#define SHMEMI_DEVICE_AS_IT_IS

namespace shmemi_device
{

typedef unsigned long long word;
typedef unsigned int half;
struct alignas(16) quad {
    word low, high;
};

enum { host_warp = 4 };            /* threads that play a warp */
enum { turns_between_looks = 16 }; /* at the clock, in a loop that waits */

/* How a thread waits, from one look at a word to the next: it spins, and then it sleeps, longer and longer. It does not
 * yield and does not sleep shortly for long, since either may keep other programs from running (bench/log/decisions.md). */
class patience
{
  public:
    void relax()
    {
        enum { SPINS = 100, NAPS_PER_STEP = 4, NAP_NS = 20000, NAP_MAX_NS = 5000000 };
        if (turns_++ < SPINS)
            return;
        struct timespec nap = {0, static_cast<long>(1 + (turns_ - SPINS) / NAPS_PER_STEP) * NAP_NS};
        if (nap.tv_nsec > NAP_MAX_NS)
            nap.tv_nsec = NAP_MAX_NS;
        nanosleep(&nap, nullptr);
    }

  private:
    unsigned turns_ = 0;
};

/* A barrier of the threads of a block or warp, which sleep in it. */
struct host_barrier {
    unsigned size, arrived, passed;
    unsigned long long shared;
    void wait()
    {
        const unsigned now = __atomic_load_n(&passed, __ATOMIC_ACQUIRE);
        if (__atomic_add_fetch(&arrived, 1u, __ATOMIC_ACQ_REL) == size) {
            __atomic_store_n(&arrived, 0u, __ATOMIC_RELAXED);
            __atomic_store_n(&passed, now + 1u, __ATOMIC_RELEASE);
            syscall(SYS_futex, &passed, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
            return;
        }
        while (__atomic_load_n(&passed, __ATOMIC_ACQUIRE) == now)
            syscall(SYS_futex, &passed, FUTEX_WAIT_PRIVATE, now, nullptr, nullptr, 0);
    }
};

/* What a thread plays. Without a launch: the only thread of the only block. */
struct host_thread {
    unsigned block, n_blocks, rank, size;
    host_barrier *of_block, *of_warp;
};

inline host_thread &self()
{
    static thread_local host_thread thread = {0, 1, 0, 1, nullptr, nullptr};
    return thread;
}

inline void host_wait(host_barrier *barrier)
{
    if (barrier)
        barrier->wait();
}

inline unsigned long long host_share(host_barrier *barrier, bool is_first, unsigned long long value)
{
    if (!barrier)
        return value;
    if (is_first)
        barrier->shared = value;
    barrier->wait();
    return barrier->shared;
}

} // namespace shmemi_device

/* ---- Groups: who makes a call together ---------------------------------------------------------------------------
 * share: the value that the thread with rank 0 has. Before, the group calls ready, or meets in another way. */

struct shmemx_device_thread_t {
    unsigned rank() const
    {
        return 0;
    }
    unsigned size() const
    {
        return 1;
    }
    void sync() const
    {
    }
    void ready() const
    {
    }
    unsigned long long share(unsigned long long value) const
    {
        return value;
    }
};

struct shmemx_device_block_t {
    unsigned rank() const
    {
        return shmemi_device::self().rank;
    }
    unsigned size() const
    {
        return shmemi_device::self().size;
    }
    void sync() const
    {
        shmemi_device::host_wait(shmemi_device::self().of_block);
    }
    void ready() const
    {
        sync();
    }
    unsigned long long share(unsigned long long value) const
    {
        return shmemi_device::host_share(shmemi_device::self().of_block, rank() == 0, value);
    }
};

struct shmemx_device_warp_t {
    unsigned rank() const
    {
        return shmemi_device::self().rank % shmemi_device::host_warp;
    }
    unsigned size() const
    {
        return shmemi_device::self().of_warp ? shmemi_device::self().of_warp->size : 1;
    }
    void sync() const
    {
        shmemi_device::host_wait(shmemi_device::self().of_warp);
    }
    void ready() const
    {
        sync();
    }
    unsigned long long share(unsigned long long value) const
    {
        return shmemi_device::host_share(shmemi_device::self().of_warp, rank() == 0, value);
    }
};

/* Number of the block that this thread belongs to, and how many there are. */
static inline unsigned shmemx_device_host_block()
{
    return shmemi_device::self().block;
}
static inline unsigned shmemx_device_host_blocks()
{
    return shmemi_device::self().n_blocks;
}

/* Threads of the CPU come to their turn whatever they wait for; many are slow. */
template <class KERNEL> int shmemx_device_max_blocks(KERNEL, int threads_per_block, std::size_t)
{
    const int threads = 1024;
    return threads_per_block > 0 ? threads / threads_per_block : 0;
}

/* Run kernel() in n_blocks times n_threads threads, and wait for all of them. */
template <class KERNEL> void shmemx_device_host_launch(unsigned n_blocks, unsigned n_threads, KERNEL kernel)
{
    using namespace shmemi_device;
    const unsigned n_warps = (n_threads + host_warp - 1) / host_warp;
    std::vector<host_barrier> blocks(n_blocks), warps(static_cast<std::size_t>(n_blocks) * n_warps);
    std::vector<std::thread> threads;
    for (unsigned block = 0; block < n_blocks; block++) {
        blocks[block] = host_barrier{n_threads, 0, 0, 0};
        for (unsigned rank = 0; rank < n_threads; rank++) {
            const unsigned left = n_threads - rank / host_warp * host_warp;
            host_barrier *warp = &warps[block * n_warps + rank / host_warp];
            if (rank % host_warp == 0)
                *warp = host_barrier{left < host_warp ? left : static_cast<unsigned>(host_warp), 0, 0, 0};
        }
    }
    for (unsigned i = 0; i < n_blocks * n_threads; i++)
        threads.emplace_back([=, &blocks, &warps] {
            const unsigned block = i / n_threads, rank = i % n_threads;
            self() = host_thread{block,     n_blocks,       rank,
                                 n_threads, &blocks[block], &warps[block * n_warps + rank / host_warp]};
            kernel();
        });
    for (std::thread &thread : threads)
        thread.join();
}

namespace shmemi_device
{

struct companions { /* of a thread that is not in step with others */
    unsigned size() const
    {
        return 1;
    }
    unsigned rank() const
    {
        return 0;
    }
    word share(word value) const
    {
        return value;
    }
    bool agree(word) const
    {
        return true;
    }
    void sync() const
    {
    }
};

/* ---- Words that others change ------------------------------------------------------------------------------------
 * Updates are acquire and release: CPUs do nothing less, and the sanitizer sees what orders the data. */

template <class T> inline T load_relaxed(const T *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}
template <class T> inline T load_acquire(const T *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
template <class T> inline void store_relaxed(T *p, T value)
{
    __atomic_store_n(p, value, __ATOMIC_RELAXED);
}
template <class T> inline void store_release(T *p, T value)
{
    __atomic_store_n(p, value, __ATOMIC_RELEASE);
}
template <class T> inline T fetch_swap(T *p, T value)
{
    return __atomic_exchange_n(p, value, __ATOMIC_ACQ_REL);
}
template <class T> inline T fetch_compare_swap(T *p, T expected, T value)
{
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return expected;
}

#define SHMEMI_DEVICE_UPDATE(NAME)                                                                                     \
    template <class T> inline T fetch_##NAME(T *p, T value)                                                            \
    {                                                                                                                  \
        return __atomic_fetch_##NAME(p, value, __ATOMIC_ACQ_REL);                                                      \
    }                                                                                                                  \
    template <class T> inline void send_##NAME(T *p, T value)                                                          \
    {                                                                                                                  \
        __atomic_fetch_##NAME(p, value, __ATOMIC_ACQ_REL);                                                             \
    }
SHMEMI_DEVICE_UPDATE(add)
SHMEMI_DEVICE_UPDATE(and)
SHMEMI_DEVICE_UPDATE(or)
SHMEMI_DEVICE_UPDATE(xor)
#undef SHMEMI_DEVICE_UPDATE

/* Real numbers. */
template <class T> inline T fetch_real_sum(T *p, T value)
{
    T seen, sum;
    __atomic_load(p, &seen, __ATOMIC_RELAXED);
    do
        sum = seen + value;
    while (!__atomic_compare_exchange(p, &seen, &sum, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    return seen;
}
SHMEMI_DEVICE float fetch_add(float *p, float value)
{
    return fetch_real_sum(p, value);
}
SHMEMI_DEVICE double fetch_add(double *p, double value)
{
    return fetch_real_sum(p, value);
}
SHMEMI_DEVICE void send_add(float *p, float value)
{
    fetch_add(p, value);
}
SHMEMI_DEVICE void send_add(double *p, double value)
{
    fetch_add(p, value);
}

/* The sanitizer does not know fences: the store is the release. */
SHMEMI_DEVICE void fence_near()
{
}
SHMEMI_DEVICE void store_after_fence(word *p, word value)
{
    store_release(p, value);
}
SHMEMI_DEVICE word load_before_fence(const word *p)
{
    return load_acquire(p);
}
SHMEMI_DEVICE bool replace_near(word *p, word expected, word value)
{
    return fetch_compare_swap(p, expected, value) == expected;
}

SHMEMI_DEVICE void send_add_release(word *p, word value)
{
    send_add(p, value);
}

/* An atomic update is no full barrier on Arm. */
SHMEMI_DEVICE void fence_system()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

SHMEMI_DEVICE void fence_sequential()
{
    fence_system();
}

/* ---- Data -------------------------------------------------------------------------------------------------------- */

template <class UNIT> inline UNIT load_plain(const char *p)
{
    UNIT value;
    memcpy(&value, p, sizeof value);
    return value;
}

template <class UNIT> inline void store_plain(char *p, UNIT value)
{
    memcpy(p, &value, sizeof value);
}

/* CPUs keep their caches coherent; what the thread does next, it does after the load. */
template <class UNIT> struct fresh {
    static UNIT load(const char *p)
    {
        const UNIT value = load_plain<UNIT>(p);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        return value;
    }
};

SHMEMI_DEVICE bool host_reaches(const void *)
{
    return true;
}

SHMEMI_DEVICE word clock_ns()
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<word>(now.tv_sec) * 1000000000u + static_cast<word>(now.tv_nsec);
}

SHMEMI_DEVICE unsigned block_number()
{
    return self().block;
}

SHMEMI_DEVICE void give_up(const char *cause)
{
    fprintf(stderr, "shmemx_device.h: %s\n", cause);
    abort();
}

} // namespace shmemi_device

#endif
