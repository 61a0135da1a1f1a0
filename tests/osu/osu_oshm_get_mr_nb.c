/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Message rate of nonblocking gets: shmem_getmem_nbi.
 */
#include "message_rate.h"
#include "osu_report.h"
#include "shmem_flavour.h"

static void repeat(const struct message_series *series)
{
    message_rate_repeat(series, shmem_getmem_nbi);
}

static const struct message_rate_test test = {
    .program =
        {
            .name = "osu_oshm_get_mr_nb",
            .title = "OSU OpenSHMEM Get_nb Message Rate Test",
            .summary = "Rate of shmem_getmem_nbi between pairs of PEs; one shmem_quiet completes all of a size.",
            MESSAGE_RATE_DEFAULTS,
        },
    .gets = true,
    .repeat = repeat,
};

int main(int argc, char **argv)
{
    return message_rate_main(&test, argc, argv);
}
