/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Time of a typed put without a wait of its own: shmem_long_put many times, then one shmem_quiet. From 8 bytes on, one
 * element, this is what a call costs; --raw has the memcpy of the same bytes beside it.
 */
#include "latency.h"
#include "osu_report.h"
#include "shmem_flavour.h"

static void repeat(void *dest, const void *source, size_t size, long count)
{
    for (long i = 0; i < count; i++)
        shmem_long_put(dest, source, size / sizeof(long), 1);
    shmem_quiet();
}

static const struct latency_test test = {
    .program =
        {
            .name = "osu_oshm_put_long",
            .title = "OSU OpenSHMEM Typed Put Test",
            .summary = "Time of shmem_long_put from PE 0 to PE 1, many of them completed by one shmem_quiet.",
            LATENCY_DEFAULTS,
            .min_size = sizeof(long),
        },
    .source_pe = OSU_PUT_SOURCE,
    .repeat = repeat,
};

int main(int argc, char **argv)
{
    return latency_main(&test, argc, argv);
}
