/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Message rate of puts: shmem_putmem.
 */
#include "message_rate.h"
#include "osu_report.h"
#include "shmem_flavour.h"

static void repeat(const struct message_series *series)
{
    message_rate_repeat(series, shmem_putmem);
}

static const struct message_rate_test test = {
    .program =
        {
            .name = "osu_oshm_put_mr",
            .title = "OSU OpenSHMEM Put Message Rate Test",
            .summary = "Rate of shmem_putmem between pairs of PEs; one shmem_quiet completes all messages of a size.",
            MESSAGE_RATE_DEFAULTS,
        },
    .gets = false,
    .repeat = repeat,
};

int main(int argc, char **argv)
{
    return message_rate_main(&test, argc, argv);
}
