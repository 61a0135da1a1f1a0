// SPDX-License-Identifier: BSD-3-Clause
//
// The ring of kernels and the agent that serves it: threads of each PE, a node of its own, play a kernel that puts, gets
// and adds at the next PE, more than the ring has entries for. Each thread has a part of that PE's memory and a model of it.
#define SHMEMI_INTERLEAVED // here, too: between the calls of a thread

#include <shmemx_device.h>

extern "C" {
#include "base/wake/interleave.h"
#include "tests/interleave/seeded.h"
}
#include "tests/unit/unit.h"

#include <cstring>

enum { THREADS = 4, STEPS = 24, PART = 4096, BURST = 80 };

struct memory {
    unsigned char part[THREADS][PART];
    long counter;
};

static memory *own;
static shmemx_device_view_t view;
static long added[THREADS];

static void put_bytes(unsigned char *model, unsigned rank, int to)
{
    static const unsigned most[] = {8, 64, 512, 2048};
    static unsigned char source[THREADS][PART];
    const unsigned n = 1 + seeded_number(most[seeded_number(4)]), at = seeded_number(PART - n);
    shmemx_device_quiet(shmemx_device_thread_t(), view); // puts to one place have no order among themselves
    for (unsigned i = 0; i < n; i++)
        source[rank][i] = model[at + i] = static_cast<unsigned char>(seeded_number(256));
    shmemx_device_put(shmemx_device_thread_t(), view, &own->part[rank][at], source[rank], n, to);
}

static void put_words(unsigned char *model, unsigned rank, int to)
{
    const unsigned first = seeded_number(PART / 8 - BURST), n = 1 + seeded_number(BURST);
    shmemx_device_quiet(shmemx_device_thread_t(), view);
    for (unsigned i = first; i < first + n; i++) {
        const long word = static_cast<long>(seeded_number(1u << 30));
        memcpy(model + 8 * i, &word, 8);
        shmemx_device_p(view, reinterpret_cast<long *>(own->part[rank]) + i, word, to);
    }
}

static void add(unsigned rank, int to)
{
    const long n = 1 + static_cast<long>(seeded_number(9));
    added[rank] += n;
    if (seeded_number(2))
        shmemx_device_atomic_add(view, &own->counter, n, to);
    else
        shmemx_device_atomic_fetch_add(view, &own->counter, n, to);
}

static void check_part(const unsigned char *model, unsigned rank, int to)
{
    unsigned char copy[PART];
    shmemx_device_quiet(shmemx_device_thread_t(), view);
    shmemx_device_get(shmemx_device_thread_t(), view, copy, own->part[rank], PART, to);
    CHECK(!memcmp(copy, model, PART));
}

static void play_kernel(int to)
{
    const unsigned rank = shmemx_device_block_t().rank();
    unsigned char model[PART] = {0};
    for (int i = 0; i < STEPS; i++) {
        shmemi_interleave();
        switch (seeded_number(5)) {
        case 0:
            put_bytes(model, rank, to);
            break;
        case 1:
            put_words(model, rank, to);
            break;
        case 2:
            check_part(model, rank, to);
            break;
        default:
            add(rank, to);
        }
    }
    check_part(model, rank, to);
}

static void round_of_kernels(unsigned)
{
    static long mine, sum, counted;
    memset(static_cast<void *>(own), 0, sizeof *own);
    memset(added, 0, sizeof added);
    shmem_barrier_all();
    shmemx_device_host_launch(1, THREADS, [] { play_kernel((shmem_my_pe() + 1) % shmem_n_pes()); });
    shmem_barrier_all();
    mine = -own->counter;
    for (long n : added)
        mine += n;
    counted = own->counter;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
    CHECK(sum == 0 && counted > 0);
}

int main(int argc, char **argv)
{
    shmem_init();
    seeded_process(static_cast<unsigned>(shmem_my_pe()));
    own = static_cast<memory *>(shmem_calloc(1, sizeof *own));
    CHECK(own && !shmemx_device_view(own, &view));
    const int rc = seeded_main(argc, argv, round_of_kernels);
    shmem_finalize();
    return rc;
}
