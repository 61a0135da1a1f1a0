/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Message rate of gets: shmem_getmem, each complete on return.
 */
#include "message_rate.h"
#include "osu_report.h"
#include "shmem_flavour.h"

static void repeat(const struct message_series *series)
{
    message_rate_repeat(series, shmem_getmem);
}

static const struct message_rate_test test = {
    .program =
        {
            .name = "osu_oshm_get_mr",
            .title = "OSU OpenSHMEM Get Message Rate Test",
            .summary = "Rate of shmem_getmem between pairs of PEs; one shmem_quiet completes all messages of a size.",
            MESSAGE_RATE_DEFAULTS,
        },
    .gets = true,
    .waits = true,
    .repeat = repeat,
};

int main(int argc, char **argv)
{
    return message_rate_main(&test, argc, argv);
}
