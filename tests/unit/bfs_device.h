/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device for the kernels of bfs with a thread for each lane: how the kernels are spelt in C++, and what runs them.
 */
#ifndef BFS_DEVICE_H
#define BFS_DEVICE_H

#include <cstdint>
#include <functional>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <vector>

typedef uint32_t u32;
typedef uint64_t u64;

#include "layout.h"

/* ---- How the kernels are spelt here ------------------------------------------------------------------------------ */

/* Two barriers that take turns: to ThreadSanitizer, a thread that leaves a barrier comes after all that have entered it
 * by then, even for the next time. Each thread counts its meetings with the others. */
class meeting
{
  public:
    ~meeting()
    {
        for (pthread_barrier_t &barrier : barriers)
            pthread_barrier_destroy(&barrier);
    }

    void open(u32 n_threads)
    {
        for (pthread_barrier_t &barrier : barriers)
            pthread_barrier_init(&barrier, nullptr, n_threads);
    }

    void wait(u32 &times)
    {
        pthread_barrier_wait(&barriers[times++ % 2]);
    }

  private:
    pthread_barrier_t barriers[2];
};

struct lane {
    u32 number, n_lanes;
    u64 group, n_groups;
    meeting *others; /* of its group */
    u32 met;
    u32 random;
};

static thread_local struct lane lane;

/* Now and then lets another thread go first. */
template <typename T> static T *hesitate(T *address)
{
    lane.random = lane.random * 1664525 + 1013904223;
    if (lane.random >> 28 == 0)
        sched_yield();
    return address;
}

/* A slot where groups run has its own instance of each kernel, and so of what is shared in a group. */
#define KERNEL template <int slot> static
#define DEVICE static inline
#define GLOBAL
#define LOCAL
#define SHARED static
#define RESTRICT __restrict
#define BARRIER() lane.others->wait(lane.met)

#define LANE lane.number
#define LANES lane.n_lanes
#define GROUP lane.group
#define GROUPS lane.n_groups
#define GLOBAL_ID (GROUP * LANES + LANE)

#define ADD(address, amount) __atomic_fetch_add(hesitate(address), amount, __ATOMIC_RELAXED)
#define ADD_GLOBAL_32(address, amount) ADD(address, amount)
#define ADD_GLOBAL_64(address, amount) ADD(address, amount)
#define ADD_LOCAL_32(address, amount) ADD(address, amount)
#define ADD_LOCAL_64(address, amount) ADD(address, amount)
#define OR_GLOBAL(address, bits) __atomic_fetch_or(hesitate(address), bits, __ATOMIC_RELAXED)
#define OR_LOCAL(address, bits) OR_GLOBAL(address, bits)
#define LOAD_CACHED(address) __atomic_load_n(hesitate(address), __ATOMIC_RELAXED)
#define LOAD_UNCACHED(address) LOAD_CACHED(address)

#define NONE 0xffffffffu
#define MOST_LANES 256
#define PER_LANE 4
#define PIECE (MOST_LANES * PER_LANE)

#include "kernels.h"

/* ---- Device ------------------------------------------------------------------------------------------------------ */

enum { SLOTS = 3 };
using kernel_call = std::function<void()>;

/* Runs this many groups at a time. A slot has a gate, where the host and its lanes meet before and after a kernel. */
class device
{
  public:
    const u32 n_lanes, n_slots, most_groups;

    device(u32 lanes, u32 slots, u32 groups)
        : n_lanes(lanes), n_slots(slots), most_groups(groups), barriers(slots), gates(slots), met(slots)
    {
        for (u32 slot = 0; slot < n_slots; slot++) {
            barriers[slot].open(n_lanes);
            gates[slot].open(n_lanes + 1);
            for (u32 i = 0; i < n_lanes; i++)
                threads.emplace_back([=] { run_lane(slot, i); });
        }
    }

    ~device()
    {
        calls = nullptr;
        meet(n_slots);
        for (std::thread &thread : threads)
            thread.join();
    }

    /* calls[i] is the kernel for slot i. Returns when it is done. */
    void launch(u64 groups, const std::vector<kernel_call> &kernel)
    {
        u32 used = groups < n_slots ? (u32)groups : n_slots;

        calls = &kernel;
        n_groups = groups;
        meet(used);
        meet(used);
    }

    /* As search.c has them. */
    u64 groups_for(u64 n_adjacent) const
    {
        u64 groups = n_adjacent / (4 * n_lanes) + 1;

        return groups < most_groups ? groups : most_groups;
    }

  private:
    std::vector<meeting> barriers, gates;
    std::vector<u32> met; /* how often the host was at each gate */
    std::vector<std::thread> threads;
    const std::vector<kernel_call> *calls = nullptr;
    u64 n_groups = 0;

    void meet(u32 slots)
    {
        for (u32 slot = 0; slot < slots; slot++)
            gates[slot].wait(met[slot]);
    }

    void run_lane(u32 slot, u32 i)
    {
        u32 times = 0;

        lane = {i, n_lanes, 0, 0, &barriers[slot], 0, (slot << 16) + i};
        for (;;) {
            gates[slot].wait(times);
            if (!calls)
                return;
            lane.n_groups = n_groups;
            for (lane.group = slot; lane.group < n_groups; lane.group += n_slots) {
                (*calls)[slot]();
                BARRIER();
            }
            gates[slot].wait(times);
        }
    }
};

#define CALL(slot, kernel, ...) [&] { kernel<slot>(__VA_ARGS__); }
#define LAUNCH(device, groups, kernel, ...)                                                                            \
    (device).launch(groups, {CALL(0, kernel, __VA_ARGS__), CALL(1, kernel, __VA_ARGS__), CALL(2, kernel, __VA_ARGS__)})

#endif
