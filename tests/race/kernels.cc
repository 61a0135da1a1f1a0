// SPDX-License-Identifier: BSD-3-Clause
//
// A kernel that threads of the CPU play: with a race if the argument is racy, without one otherwise.
#include <shmem.h>
#include <shmemx_device.h>

#include <cstring>

enum { N = 64, THREADS = 4 };

struct symmetric {
    int data[N], sums[N], words[N];
    unsigned long long signal;
    alignas(16) char work[SHMEMX_DEVICE_WORK_BYTES(8, N)];
};

static volatile int sink;

static void put_and_wait(symmetric *own, const int *source, const shmemx_device_view_t &view, bool waits)
{
    const shmemx_device_block_t block = shmemx_device_block_t();
    const int next = (view.pe + 1) % view.n_pes;
    shmemx_device_put_signal(block, view, own->data, source, N, &own->signal, 1, SHMEM_SIGNAL_SET, next); // racy
    if (waits)
        shmemx_device_signal_wait_until(block, view, &own->signal, SHMEM_CMP_EQ, 1ull);
    sink = own->data[block.rank()]; // racy
}

// What is right with every call: transfers, updates, collectives, and the host's part.
static void exchange(symmetric *own, const int *source, const shmemx_device_view_t &view,
                     const shmemx_device_team_t &team)
{
    const shmemx_device_block_t block = shmemx_device_block_t();
    const int next = (view.pe + 1) % view.n_pes;
    shmemx_device_barrier(block, team);
    shmemx_device_put_nbi(block, view, own->words, source, N, next);
    shmemx_device_barrier(block, team);
    sink = own->words[block.rank()];
    shmemx_device_sum_reduce(block, team, own->sums, own->words, N);
    sink = own->sums[block.rank()];
    shmemx_device_barrier(block, team);
    if (block.rank() == 0) {
        shmemx_device_p(view, &own->data[1], 5, next);
        shmemx_device_fence(shmemx_device_thread_t(), view);
        shmemx_device_atomic_add(view, &own->signal, 1ull, next);
        shmemx_device_signal_wait_until(shmemx_device_thread_t(), view, &own->signal, SHMEM_CMP_EQ, 2ull);
        sink = own->data[1];
    }
}

int main(int argc, char **argv)
{
    const bool is_racy = argc > 1 && !std::strcmp(argv[1], "racy");
    shmem_init();
    symmetric *own = static_cast<symmetric *>(shmem_calloc(1, sizeof *own));
    int source[N] = {1, 2, 3};
    shmemx_device_view_t view;
    shmemx_device_team_t team;
    if (shmemx_device_view(own, &view) || shmemx_device_team_view(SHMEM_TEAM_WORLD, own->work, sizeof own->work, &team))
        return 1;
    shmem_barrier_all();
    shmemx_device_host_launch(1, THREADS, [&] { put_and_wait(own, source, view, !is_racy); });
    if (!is_racy)
        shmemx_device_host_launch(1, THREADS, [&] { exchange(own, source, view, team); });
    shmem_barrier_all();
    sink = own->data[3];
    shmem_free(own);
    shmem_finalize();
    return 0;
}
