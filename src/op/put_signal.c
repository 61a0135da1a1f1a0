/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A put and the update of a word after it: the driver orders the two, so that no thread waits, or a fence does.
 */
#include "op/operation.h"

#include "transport/drivers/table.h"

#include <errno.h>

static int put_together(const struct shmemi_transfer *put, const struct shmemi_word_update *signal)
{
    struct shmemi_transfer_call call =
        shmemi_transfer_call(put->routine, put->view, put->offset, shmemi_transfer_bytes(put));
    if (!put->routine)
        return shmemi_issue_put_signal(put, signal);
    shmemi_call_begin(&call.call);
    int rc = shmemi_issue_put_signal(put, signal);
    shmemi_call_end(&call.call);
    return rc;
}

int shmemi_op_put_signal(const struct shmemi_transfer *put, const struct shmemi_word_update *signal)
{
    const bool has_bytes = shmemi_transfer_bytes(put) > 0;
    int rc = has_bytes && put->view->driver->put_signal ? put_together(put, signal) : -ENOTSUP;
    if (rc != -ENOTSUP)
        return rc;
    rc = has_bytes ? shmemi_op_transfer(put) : 0;
    if (!rc)
        rc = shmemi_drivers_fence(put->context);
    return rc ? rc : shmemi_op_amo(put->context, signal, NULL, true);
}
