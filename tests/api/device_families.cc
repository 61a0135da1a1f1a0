// SPDX-License-Identifier: BSD-3-Clause
//
// Families of shmemx_device.h on the symmetric heap: threads of each PE play the block of a kernel.
#include "../device/families.h"

#include "check.h"

static void *zeroed(size_t nbytes)
{
    void *memory = shmem_align(64, nbytes);
    CHECK(memory);
    memset(memory, 0, nbytes);
    return memory;
}

int main()
{
    enum { THREADS = 3, STEP = 5 };
    static int failed;
    shmem_init();
    const int me = shmem_my_pe(), n_pes = shmem_n_pes();
    const size_t nbytes = family_bytes(n_pes), work_bytes = SHMEMX_DEVICE_WORK_BYTES(n_pes, FAMILY_SLOT);
    family_run run = family_run();
    run.dest = static_cast<unsigned char *>(zeroed(nbytes));
    run.source = static_cast<unsigned char *>(malloc(nbytes));
    run.sums = static_cast<double *>(zeroed(4 * sizeof *run.sums));
    run.single_sums = static_cast<float *>(zeroed(4 * sizeof *run.single_sums));
    run.pairs = static_cast<unsigned short *>(zeroed(4 * sizeof *run.pairs));
    run.failed = &failed;
    void *work = zeroed(work_bytes);
    CHECK(run.source && !shmemx_device_view(run.dest, &run.view));
    CHECK(!shmemx_device_team_view(SHMEM_TEAM_WORLD, work, work_bytes, &run.team) && run.team.slot == FAMILY_SLOT);
    shmem_barrier_all();
    shmemx_device_host_launch(1, THREADS, [&] { check_families(run, STEP); });
    CHECK_THAT(!failed, "the check in line %d of families.h has failed", failed);
    free(run.source);
    shmem_finalize();
    if (me == 0)
        puts("ok");
}
