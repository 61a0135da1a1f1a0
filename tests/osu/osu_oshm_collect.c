/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency of a concatenation of blocks on all PEs, whose sizes the other PEs do not know. Here all are equal.
 */
#include "collective.h"

static collective_func_t routine(const struct collective_calls *calls, const struct osu_options *options)
{
    (void)options;
    return calls->collect;
}

static const struct collective_test test = {
    .program =
        {
            .name = "osu_oshm_collect",
            .title = "OSU OpenSHMEM Collect Latency Test",
            .summary = "Latency of a concatenation of blocks, one of each PE.",
            COLLECTIVE_OF_BUFFERS,
        },
    .routine = routine,
    .dest_of_each = true,
};

int main(int argc, char **argv)
{
    return collective_main(&test, argc, argv);
}
