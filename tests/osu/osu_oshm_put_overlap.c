/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Overlap of a nonblocking put with computation: shmem_putmem_nbi, computation, shmem_quiet.
 */
#include "overlap.h"
#include "shmem_flavour.h"

static void begin(void *dest, const void *source, size_t size)
{
    shmem_putmem_nbi(dest, source, size, 1);
}

static void repeat(void *dest, const void *source, size_t size, long count)
{
    for (long i = 0; i < count; i++) {
        begin(dest, source, size);
        shmem_quiet();
    }
}

static const struct latency_test test = {
    .program =
        {
            .name = "osu_oshm_put_overlap",
            .title = "OSU OpenSHMEM Put_nbi Overlap Test",
            .summary = "How much of a shmem_putmem_nbi from PE 0 to PE 1 is hidden behind computation on PE 0.",
            OVERLAP_DEFAULTS,
        },
    .source_pe = OSU_PUT_SOURCE,
    .repeat = repeat,
    .begin = begin,
    .measure = overlap_measure,
};

int main(int argc, char **argv)
{
    return latency_main(&test, argc, argv);
}
