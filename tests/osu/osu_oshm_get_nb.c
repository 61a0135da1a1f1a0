/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency of a nonblocking get that is complete: shmem_getmem_nbi and shmem_quiet.
 */
#include "latency.h"
#include "osu_report.h"
#include "shmem_flavour.h"

static void repeat(void *dest, const void *source, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        shmem_getmem_nbi(dest, source, size, 1);
        shmem_quiet();
    }
}

static const struct latency_test test = {
    .program =
        {
            .name = "osu_oshm_get_nb",
            .title = "OSU OpenSHMEM Get_nbi Test",
            .summary = "Latency of shmem_getmem_nbi by PE 0 from PE 1, each followed by shmem_quiet.",
            LATENCY_DEFAULTS,
        },
    .source_pe = OSU_GET_SOURCE,
    .repeat = repeat,
};

int main(int argc, char **argv)
{
    return latency_main(&test, argc, argv);
}
