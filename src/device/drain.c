/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Waits of the program's threads for what kernels have handed to the agent. A kernel may end without a quiet, and then the
 * agent still has its operations; barriers, and a quiet of the default context, complete them as if this PE had issued them
 * there.
 */
#include "device/device.h"

#include "instrument/measure.h"
#include "instrument/watch.h"
#include "transport/progress.h"

static void describe(const struct shmemi_call *call, char *text, size_t size)
{
    (void)call;
    shmemi_append(text, size, "for operations of kernels that have ended");
}

void shmemi_device_quiet(void)
{
    struct shmemi_call call = {.activity = SHMEMI_AT_DETAIL, .describe = describe};
    struct shmemi_device_drain drain = {0};
    unsigned spins = 0;
    if (shmemi_device_is_drained(&drain))
        return;
    shmemi_call_begin(&call);
    while (!shmemi_device_is_drained(&drain))
        shmemi_progress(&spins);
    shmemi_call_end(&call);
}
