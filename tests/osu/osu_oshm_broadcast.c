/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency of a broadcast from PE 0 to all PEs.
 */
#include "collective.h"

static collective_func_t routine(const struct collective_calls *calls, const struct osu_options *options)
{
    (void)options;
    return calls->broadcast;
}

static const struct collective_test test = {
    .program =
        {
            .name = "osu_oshm_broadcast",
            .title = "OSU OpenSHMEM Broadcast Latency Test",
            .summary = "Latency of a broadcast from PE 0.",
            COLLECTIVE_OF_BUFFERS,
        },
    .routine = routine,
    .source_of_root = true,
};

int main(int argc, char **argv)
{
    return collective_main(&test, argc, argv);
}
