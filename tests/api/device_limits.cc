// SPDX-License-Identifier: BSD-3-Clause
//
// Transfers and collectives of shmemx_device.h around all limits of size, on the symmetric heap: threads of each PE play
// the block of a kernel. Work areas hold more than a slot of the ring, or less.
#include "../device/limits.h"

#include "check.h"

static void run_all(limited *own, char *work, size_t work_bytes)
{
    enum { THREADS = 3, STEP = 4 };
    static unsigned char source[LIMIT_BYTES], expected[LIMIT_BYTES + 2 * LIMIT_GUARD];
    static int failed;
    limit_run run = limit_run();
    CHECK(!shmemx_device_view(own, &run.view));
    CHECK(!shmemx_device_team_view(SHMEM_TEAM_WORLD, work, work_bytes, &run.team));
    run.signal_view = run.view;
    run.own = own;
    run.signal = &own->signal;
    run.source = source;
    run.expected = expected;
    run.failed = &failed;
    shmemx_device_host_launch(1, THREADS, [&] { check_limits(run, STEP); });
    CHECK_THAT(!failed, "the check in line %d of limits.h has failed, pieces of %u bytes", failed, run.team.slot);
}

int main()
{
    shmem_init();
    const int me = shmem_my_pe();
    const size_t large = SHMEMX_DEVICE_WORK_BYTES(shmem_n_pes(), 32768),
                 small = SHMEMX_DEVICE_WORK_BYTES(shmem_n_pes(), 9000);
    limited *own = static_cast<limited *>(shmem_align(64, sizeof *own));
    char *work = static_cast<char *>(shmem_align(64, large));
    memset(static_cast<void *>(own), 0, sizeof *own);
    memset(work, 0, large);
    shmem_barrier_all();
    run_all(own, work, large);
    shmem_barrier_all();
    memset(work, 0, small);
    shmem_barrier_all();
    run_all(own, work, small);
    shmem_barrier_all();
    shmem_free(work);
    shmem_free(own);
    shmem_finalize();
    if (me == 0)
        puts("ok");
}
