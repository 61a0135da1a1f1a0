// SPDX-License-Identifier: BSD-3-Clause
//
// shmemx_device.h between processes: threads of each PE play the block of a kernel and make all calls on the symmetric
// heap, in the team of all PEs and in teams of some; views and teams that the library refuses.
#include "../device/calls.h"

#include "check.h"

#include <errno.h>

static shmemx_device_view_t view_of(const void *symmetric)
{
    shmemx_device_view_t view;
    CHECK(!shmemx_device_view(symmetric, &view));
    CHECK(view.own <= symmetric && static_cast<const char *>(symmetric) < view.own + view.size);
    CHECK(view.pe == shmem_my_pe() && view.n_pes == shmem_n_pes());
    return view;
}

static void run(const calls &c)
{
    enum { THREADS = 3 };
    shmemx_device_host_launch(1, THREADS, [&] { make_all_calls(c, false); });
    CHECK_THAT(!*c.failed, "the check in line %d of calls.h has failed", *c.failed);
}

static void all_calls(symmetric *own)
{
    static unsigned char source[N_BYTES];
    static int failed;
    calls c = calls();
    c.view = view_of(own);
    CHECK(!shmemx_device_team_view(SHMEM_TEAM_WORLD, own->work, SHMEMX_DEVICE_WORK_BYTES(c.view.n_pes, 100), &c.team));
    CHECK(c.team.slot == 112 && c.team.n_pes == c.view.n_pes && c.team.pe == c.view.pe);
    c.own = own;
    c.source = source;
    c.failed = &failed;
    run(c);
}

// Sums over the PEs of a team, several times; one thread plays the kernel.
static void sums(shmem_team_t team, void *work, size_t nbytes)
{
    shmemx_device_team_t view;
    if (team == SHMEM_TEAM_INVALID)
        return;
    CHECK(!shmemx_device_team_view(team, work, nbytes, &view));
    long expected = 0;
    for (int i = 0; i < view.n_pes; i++)
        expected += shmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD);
    for (int k = 0; k < 5; k++) {
        long mine = shmem_my_pe(), sum;
        shmemx_device_sum_reduce(shmemx_device_thread_t(), view, &sum, &mine, 1);
        CHECK(sum == expected);
        shmemx_device_barrier(shmemx_device_thread_t(), view);
    }
}

static void other_teams()
{
    const int n = shmem_n_pes();
    const size_t nbytes = SHMEMX_DEVICE_WORK_BYTES(n, 8);
    char *work = static_cast<char *>(shmem_calloc(2, nbytes));
    shmem_team_t odd = SHMEM_TEAM_INVALID, rows = SHMEM_TEAM_INVALID, columns = SHMEM_TEAM_INVALID;
    if (n > 1)
        shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, n / 2, nullptr, 0, &odd);
    sums(odd, work, nbytes);
    shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, nullptr, 0, &rows, nullptr, 0, &columns);
    sums(rows, work + nbytes, nbytes);
    shmem_barrier_all();
    memset(work, 0, 2 * nbytes);
    shmem_barrier_all();
    sums(columns, work, nbytes);
    shmem_barrier_all();
    shmem_free(work);
}

// Threads of the CPU use static data as well: on PEs that they cannot reach, by the agent.
static void static_data()
{
    static long words[2];
    const int me = shmem_my_pe(), n = shmem_n_pes();
    const shmemx_device_view_t view = view_of(words);
    shmemx_device_p(view, &words[0], 100l + me, (me + 1) % n);
    shmemx_device_quiet(shmemx_device_thread_t(), view);
    shmem_barrier_all();
    CHECK(words[0] == 100 + (me + n - 1) % n && !words[1]);
    CHECK(shmemx_device_g(view, &words[0], (me + 1) % n) == 100 + me);
    shmem_barrier_all();
}

static void refusals(symmetric *own)
{
    shmemx_device_view_t view;
    shmemx_device_team_t team;
    int private_word = 0;
    const size_t least = SHMEMX_DEVICE_WORK_BYTES(shmem_n_pes(), 0);
    CHECK(shmemx_device_view(&private_word, &view) == -EINVAL);
    CHECK(shmemx_device_team_view(SHMEM_TEAM_WORLD, &private_word, least, &team) == -EINVAL);
    CHECK(shmemx_device_team_view(SHMEM_TEAM_WORLD, own->work, least - 1, &team) == -EINVAL);
    CHECK(shmemx_device_team_view(SHMEM_TEAM_WORLD, own->work + 8, least, &team) == -EINVAL);
    CHECK(!shmemx_device_team_view(SHMEM_TEAM_WORLD, own->work, least, &team) && team.slot == 0);
}

int main()
{
    shmem_init();
    symmetric *own = static_cast<symmetric *>(shmem_align(64, sizeof *own));
    memset(static_cast<void *>(own), 0, sizeof *own);
    shmem_barrier_all();
    const shmemx_device_view_t view = view_of(own);
    CHECK(!view.ring->n_entries == (shmem_ptr(own, 0) && shmem_ptr(own, shmem_n_pes() - 1)));
    all_calls(own);
    other_teams();
    refusals(own);
    static_data();
    shmem_barrier_all();
    shmem_free(own);
    shmem_finalize();
    if (view.pe == 0)
        puts("ok");
}
