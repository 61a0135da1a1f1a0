/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A put and the update of a word after it: the driver orders the two, so that no thread waits, or a fence does.
 */
#include "transport/op/operation.h"

#include "transport/drivers/table.h"

#include <errno.h>

static int put_then_update(const struct shmemi_transfer *put, const struct shmemi_word_update *signal)
{
    const bool has_bytes = shmemi_transfer_bytes(put) > 0;
    int rc = has_bytes && put->view->driver->put_signal ? shmemi_issue_put_signal(put, signal) : -ENOTSUP;
    if (rc != -ENOTSUP)
        return rc;
    rc = has_bytes ? shmemi_op_transfer(put) : 0;
    if (!rc)
        rc = shmemi_drivers_fence(put->context);
    return rc ? rc : shmemi_op_amo(put->context, signal, NULL, true);
}

int shmemi_op_put_signal(const struct shmemi_transfer *put, const struct shmemi_word_update *signal)
{
    const size_t nbytes = shmemi_transfer_bytes(put);
    struct shmemi_transfer_call call = shmemi_transfer_call(put->routine, nbytes ? put->view : signal->view,
                                                            nbytes ? put->offset : signal->offset, nbytes);
    if (!put->routine)
        return put_then_update(put, signal);
    shmemi_call_begin(&call.call);
    int rc = put_then_update(put, signal);
    shmemi_call_end(&call.call);
    return rc;
}
