/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A transfer leaves at once, or the driver holds it back to carry it out with others.
 */
#include "transport/op/operation.h"

#include "transport/drivers/issue.h"

#include <errno.h>

/* A blocking get is never held back, and a blocking put only if its source, in host memory, can be copied. */
static bool may_be_held_back(const struct shmemi_transfer *transfer)
{
    return transfer->view->driver->sinks && transfer->shape.rows == 1 &&
           (!transfer->is_blocking || (transfer->is_put && shmemi_transfer_is_host(transfer)));
}

int shmemi_op_transfer(const struct shmemi_transfer *transfer)
{
    int rc = may_be_held_back(transfer) ? shmemi_issue_collect(transfer) : -EAGAIN;
    if (rc != -EAGAIN)
        return rc;
    struct shmemi_transfer_call call =
        shmemi_transfer_call(transfer->routine, transfer->view, transfer->offset, shmemi_transfer_bytes(transfer));
    if (transfer->routine)
        shmemi_call_begin(&call.call);
    rc = shmemi_issue(transfer);
    __atomic_thread_fence(__ATOMIC_ACQUIRE); /* of a get: what the thread does next, it does after the driver's loads */
    if (transfer->routine)
        shmemi_call_end(&call.call);
    return rc;
}
