// SPDX-License-Identifier: BSD-3-Clause
//
// Meetings of kernels (shmem/mapshmem/device_team.h): on each PE a block of threads plays a kernel that goes from one
// collective operation to the next, of two teams in turns whose work areas hold a few words, so that most operations take
// many pieces and every slot is used again and again. The threads sleep whenever they ask the block for something, which is
// between any two steps. Results are compared, and what barriers have to complete.
#define SHMEMI_INTERLEAVED

#include <shmemx_device.h>

extern "C" {
#include "base/wake/interleave.h"
#include "tests/interleave/seeded.h"
}
#include "tests/unit/unit.h"

#include <cstring>

enum { THREADS = 3, STEPS = 10, TEAMS = 2, MOST = 40, WORK = 4096, PES_MOST = 8, BYTES = 512 };

struct memory {
    char work[TEAMS][WORK] __attribute__((aligned(128)));
    unsigned char inbox[PES_MOST][BYTES]; // of the PE with that number
};

// A block whose threads sleep here and there.
struct sleeping_block : shmemx_device_block_t {
    unsigned rank() const
    {
        shmemi_interleave();
        return shmemx_device_block_t::rank();
    }
    unsigned size() const
    {
        shmemi_interleave();
        return shmemx_device_block_t::size();
    }
    void sync() const
    {
        shmemi_interleave();
        shmemx_device_block_t::sync();
        shmemi_interleave();
    }
    void ready() const
    {
        sync();
    }
    unsigned long long share(unsigned long long value) const
    {
        shmemi_interleave();
        return shmemx_device_block_t::share(value);
    }
};

static memory *own;
static shmemx_device_view_t view;
static shmemx_device_team_t teams[TEAMS];
static long source[MOST], dest[MOST];

// What all threads of all PEs draw alike.
struct dice {
    unsigned long state;
    unsigned below(unsigned most)
    {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<unsigned>(state >> 33) % most;
    }
};

static long value_of(int pe, unsigned step, unsigned i)
{
    return static_cast<long>((static_cast<unsigned>(pe) * 2654435761u + step * 40503u + i * 977u) % 100000);
}

enum operation { SUM, LEAST, GREATEST, BROADCAST, OPERATIONS };

static long expected(operation what, int root, unsigned step, unsigned i)
{
    long result = value_of(what == BROADCAST ? root : 0, step, i);
    for (int pe = 1; pe < view.n_pes && what != BROADCAST; pe++) {
        const long theirs = value_of(pe, step, i);
        if (what == SUM)
            result += theirs;
        else if ((what == LEAST) == (theirs < result))
            result = theirs;
    }
    return result;
}

static void call(const sleeping_block &block, const shmemx_device_team_t &team, operation what, long *from, unsigned n,
                 int root)
{
    if (what == SUM)
        shmemx_device_sum_reduce(block, team, dest, from, n);
    else if (what == LEAST)
        shmemx_device_min_reduce(block, team, dest, from, n);
    else if (what == GREATEST)
        shmemx_device_max_reduce(block, team, dest, from, n);
    else
        shmemx_device_broadcast(block, team, dest, from, n, root);
}

static void collective(const sleeping_block &block, const shmemx_device_team_t &team, operation what, unsigned step,
                       dice &all)
{
    const unsigned n = 1 + all.below(MOST);
    const int root = static_cast<int>(all.below(static_cast<unsigned>(view.n_pes)));
    long *const from = all.below(2) ? dest : source;
    for (unsigned i = 0; i < n && block.rank() == 0; i++)
        from[i] = value_of(view.pe, step, i);
    block.sync();
    call(block, team, what, from, n, root);
    for (unsigned i = 0; i < n && block.rank() == 0; i++)
        CHECK(dest[i] == expected(what, root, step, i));
    block.sync();
}

// What each PE has put to all others is in place behind the barrier, and is not overwritten before all have looked.
static void barrier(const sleeping_block &block, const shmemx_device_team_t &team, unsigned step, dice &all)
{
    static unsigned char bytes[BYTES];
    const unsigned n = 1 + all.below(BYTES);
    if (block.rank() == 0)
        memset(bytes, static_cast<int>(value_of(view.pe, step, 0) & 255), n);
    block.sync();
    for (int pe = 0; pe < view.n_pes; pe++)
        shmemx_device_putmem_nbi(block, view, own->inbox[view.pe], bytes, n, pe);
    shmemx_device_barrier(block, team);
    for (int pe = 0; pe < view.n_pes && block.rank() == 0; pe++)
        CHECK(own->inbox[pe][0] == (value_of(pe, step, 0) & 255) && own->inbox[pe][n - 1] == own->inbox[pe][0]);
    shmemx_device_sync(block, team);
}

static void play_kernel(unsigned seed)
{
    const sleeping_block block;
    dice all = {seed};
    for (unsigned step = 0; step < STEPS; step++) {
        const shmemx_device_team_t &team = teams[all.below(TEAMS)];
        const unsigned what = all.below(OPERATIONS + 2);
        if (what < OPERATIONS)
            collective(block, team, static_cast<operation>(what), step, all);
        else
            barrier(block, team, step, all);
    }
    shmemx_device_quiet(block, view);
}

static void round_of_meetings(unsigned seed)
{
    shmem_barrier_all();
    shmemx_device_host_launch(1, THREADS, [seed] { play_kernel(seed); });
}

// Room for three words of each member.
static void open_teams()
{
    const size_t words = 3 * sizeof(long), nbytes = SHMEMX_DEVICE_WORK_BYTES(shmem_n_pes(), words);
    CHECK(shmem_n_pes() <= PES_MOST && nbytes <= WORK);
    for (int i = 0; i < TEAMS; i++)
        CHECK(!shmemx_device_team_view(SHMEM_TEAM_WORLD, own->work[i], nbytes, &teams[i]));
}

int main(int argc, char **argv)
{
    shmem_init();
    seeded_process(static_cast<unsigned>(shmem_my_pe()));
    own = static_cast<memory *>(shmem_align(128, sizeof *own));
    CHECK(own);
    memset(static_cast<void *>(own), 0, sizeof *own);
    CHECK(!shmemx_device_view(own, &view));
    open_teams();
    shmem_barrier_all();
    const int rc = seeded_main(argc, argv, round_of_meetings);
    shmem_barrier_all();
    shmem_finalize();
    return rc;
}
