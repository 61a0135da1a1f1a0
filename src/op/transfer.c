/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A transfer leaves at once, or the driver holds it back to carry it out with others.
 */
#include "op/operation.h"

#include "transport/drivers/issue.h"

#include <errno.h>

/* A blocking get is never held back, and a blocking put only if its source, in host memory, can be copied. */
static bool may_be_held_back(const struct shmemi_transfer *transfer)
{
    return transfer->view->driver->collecting && transfer->shape.rows == 1 &&
           (!transfer->is_blocking || (transfer->is_put && shmemi_transfer_is_host(transfer)));
}

static int transfer_watched(const struct shmemi_transfer *transfer)
{
    struct shmemi_transfer_call call =
        shmemi_transfer_call(transfer->routine, transfer->view, transfer->offset, shmemi_transfer_bytes(transfer));
    shmemi_call_begin(&call.call);
    int rc = shmemi_issue(transfer);
    shmemi_call_end(&call.call);
    return rc;
}

int shmemi_op_transfer(const struct shmemi_transfer *transfer)
{
    int rc = may_be_held_back(transfer) ? shmemi_issue_collect(transfer) : -EAGAIN;
    if (rc != -EAGAIN)
        return rc;
    return transfer->routine ? transfer_watched(transfer) : shmemi_issue(transfer);
}
