/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency of a concatenation of equal blocks, one of each PE, on all PEs.
 */
#include "collective.h"

static collective_func_t routine(const struct collective_calls *calls, const struct osu_options *options)
{
    (void)options;
    return calls->fcollect;
}

static const struct collective_test test = {
    .program =
        {
            .name = "osu_oshm_fcollect",
            .title = "OSU OpenSHMEM FCollect Latency Test",
            .summary = "Latency of a concatenation of equal blocks, one of each PE.",
            COLLECTIVE_OF_BUFFERS,
        },
    .routine = routine,
    .dest_of_each = true,
};

int main(int argc, char **argv)
{
    return collective_main(&test, argc, argv);
}
