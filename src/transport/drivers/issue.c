/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transfers that are measured: each is timed, and counted under the number of the view's driver.
 */
#include "transport/drivers/issue.h"

#include "transport/drivers/table.h"

#include <errno.h>

static void note(enum shmemi_transfer transfer, const struct shmemi_view *view, size_t offset, size_t nbytes,
                 uint64_t begin)
{
    shmemi_measure_transfer(shmemi_driver_number(view->driver), transfer,
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

#define DEFINE_MEASURED(slot, transfer, nbytes, parameters, arguments)                                                 \
    int shmemi_measured_##slot(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,          \
                               SHMEMI_UNPACK parameters)                                                               \
    {                                                                                                                  \
        uint64_t begin = shmemi_clock();                                                                               \
        int rc = view->driver->slot(context, view, offset, SHMEMI_UNPACK arguments);                                   \
        note(SHMEMI_TRANSFER_##transfer, view, offset, nbytes, begin);                                                 \
        return rc;                                                                                                     \
    }
SHMEMI_FOR_ISSUED(DEFINE_MEASURED)

int shmemi_measured_collect(const char *routine, struct shmemi_context *context, const struct shmemi_view *view,
                            size_t offset, const struct shmemi_place *mine, size_t nbytes,
                            enum shmemi_transfer transfer)
{
    struct shmemi_call call = {.routine = routine, .activity = SHMEMI_AT_TRANSFER};
    const uint64_t begin = shmemi_clock();
    shmemi_call_begin(&call);
    int rc = shmemi_issue_collected(context, view, offset, mine, nbytes, transfer);
    if (rc != -EAGAIN)
        note(transfer, view, offset, nbytes, begin);
    shmemi_call_end(&call);
    return rc;
}

/* The time is the put's. */
int shmemi_issue_put_signal(const struct shmemi_driver *driver, struct shmemi_context *context,
                            const struct shmemi_view *view, size_t offset, const struct shmemi_place *source,
                            size_t nbytes, const struct shmemi_word_update *signal, bool is_blocking)
{
    const uint64_t begin = shmemi_measure_begin();
    if (!driver->put_signal)
        return -ENOTSUP;
    int rc = shmemi_collect_deliver_puts(context);
    rc = rc ? rc : driver->put_signal(context, view, offset, source, nbytes, signal, is_blocking);
    if (!begin || rc == -ENOTSUP)
        return rc;
    note(is_blocking ? SHMEMI_TRANSFER_PUT : SHMEMI_TRANSFER_PUT_NBI, view, offset, nbytes, begin);
    note(SHMEMI_TRANSFER_AMO, signal->view, signal->offset, signal->amo.size, shmemi_clock());
    return rc;
}
