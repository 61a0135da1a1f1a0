/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers that are measured: each is timed, and counted under the number of the view's driver.
 */
#include "transport/drivers/issue.h"

#include "transport/drivers/table.h"

#include <errno.h>

static void note(enum shmemi_counted operation, const struct shmemi_view *view, size_t offset, size_t nbytes,
                 uint64_t begin)
{
    shmemi_measure_transfer(shmemi_driver_number(view->driver), operation,
                            &(struct shmemi_trace_transfer){
                                .route = view->driver->name,
                                .pe = view->pe,
                                .region = view->region,
                                .offset = offset,
                                .nbytes = nbytes,
                                .begin = begin,
                            });
}

void shmemi_measure_enqueued(const struct shmemi_view *view, size_t offset, size_t nbytes, uint64_t begin)
{
    if (begin)
        note(SHMEMI_TRANSFER_ON_STREAM, view, offset, nbytes, begin);
}

static enum shmemi_counted counted(const struct shmemi_transfer *transfer)
{
    if (transfer->shape.rows > 1)
        return transfer->is_put ? SHMEMI_TRANSFER_IPUT : SHMEMI_TRANSFER_IGET;
    if (transfer->is_blocking)
        return transfer->is_put ? SHMEMI_TRANSFER_PUT : SHMEMI_TRANSFER_GET;
    return transfer->is_put ? SHMEMI_TRANSFER_PUT_NBI : SHMEMI_TRANSFER_GET_NBI;
}

static void note_transfer(const struct shmemi_transfer *transfer, uint64_t begin)
{
    note(counted(transfer), transfer->view, transfer->offset, shmemi_transfer_bytes(transfer), begin);
}

int shmemi_measured_transfer(const struct shmemi_transfer *transfer)
{
    const uint64_t begin = shmemi_clock();
    int rc = transfer->view->driver->transfer(transfer);
    note_transfer(transfer, begin);
    return rc;
}

int shmemi_measured_collect(const struct shmemi_transfer *transfer)
{
    struct shmemi_call call = {.routine = transfer->routine, .activity = SHMEMI_AT_TRANSFER};
    const uint64_t begin = shmemi_clock();
    shmemi_call_begin(&call);
    int rc = shmemi_hold_back(transfer);
    if (rc != -EAGAIN)
        note_transfer(transfer, begin);
    shmemi_call_end(&call);
    return rc;
}

/* The time is the put's. */
int shmemi_issue_put_signal(const struct shmemi_transfer *put, const struct shmemi_word_update *signal)
{
    const uint64_t begin = shmemi_measure_begin();
    if (!put->view->driver->put_signal)
        return -ENOTSUP;
    int rc = shmemi_collect_deliver_puts(put->context);
    rc = rc ? rc : put->view->driver->put_signal(put, signal);
    if (!begin || rc == -ENOTSUP)
        return rc;
    note_transfer(put, begin);
    note(SHMEMI_TRANSFER_AMO, signal->view, signal->offset, signal->amo.size, shmemi_clock());
    return rc;
}

int shmemi_issue_amo(struct shmemi_context *context, const struct shmemi_word_update *update, void *fetch_p,
                     bool is_blocking)
{
    const uint64_t begin = shmemi_measure_begin();
    int rc = update->view->driver->amo(context, update, fetch_p, is_blocking);
    if (begin)
        note(is_blocking ? SHMEMI_TRANSFER_AMO : SHMEMI_TRANSFER_AMO_NBI, update->view, update->offset,
             update->amo.size, begin);
    return rc;
}
