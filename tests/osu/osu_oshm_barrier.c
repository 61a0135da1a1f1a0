/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency of a barrier of all PEs.
 */
#include "collective.h"

static collective_func_t routine(const struct collective_calls *calls, const struct osu_options *options)
{
    (void)options;
    return calls->barrier;
}

static const struct collective_test test = {
    .program =
        {
            .name = "osu_oshm_barrier",
            .title = "OSU OpenSHMEM Barrier Latency Test",
            .summary = "Latency of a barrier of all PEs.",
            COLLECTIVE_DEFAULTS,
            .placement = OSU_NO_MEMORY,
        },
    .routine = routine,
};

int main(int argc, char **argv)
{
    return collective_main(&test, argc, argv);
}
