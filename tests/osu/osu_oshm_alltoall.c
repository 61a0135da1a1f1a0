/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency of an exchange of one block between each two PEs; the size is that of a block.
 */
#include "collective.h"

static collective_func_t routine(const struct collective_calls *calls, const struct osu_options *options)
{
    (void)options;
    return calls->alltoall;
}

static const struct collective_test test = {
    .program =
        {
            .name = "osu_oshm_alltoall",
            .title = "OSU OpenSHMEM Alltoall Latency Test",
            .summary = "Latency of an exchange of one block between each two PEs.",
            COLLECTIVE_OF_BUFFERS,
        },
    .routine = routine,
    .source_of_each = true,
    .dest_of_each = true,
};

int main(int argc, char **argv)
{
    return collective_main(&test, argc, argv);
}
