/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency of a blocking get: shmem_getmem alone, since it returns with the data.
 */
#include "latency.h"
#include "osu_report.h"
#include "shmem_flavour.h"

static void repeat(void *dest, const void *source, size_t size, long count)
{
    for (long i = 0; i < count; i++)
        shmem_getmem(dest, source, size, 1);
}

static const struct latency_test test = {
    .program =
        {
            .name = "osu_oshm_get",
            .title = "OSU OpenSHMEM Get Test",
            .summary = "Latency of shmem_getmem by PE 0 from PE 1.",
            LATENCY_DEFAULTS,
        },
    .source_pe = OSU_GET_SOURCE,
    .repeat = repeat,
};

int main(int argc, char **argv)
{
    return latency_main(&test, argc, argv);
}
