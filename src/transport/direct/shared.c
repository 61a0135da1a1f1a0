/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Driver "shared": objects of other PEs on the very GPU that this PE uses, which their processes use in turns (no MPS). A
 * copy within the GPU waits for the turn of its process, 0.15 ms with two of them on an H100 or H200 that both are active,
 * and 10 us where the other is idle. Its copy engines serve all processes at once, and they are all that a request needs:
 * some 20 us at 8 B, 80 at 1 MiB. So short transfers between memory of that GPU are requests to the owner. Requests for
 * longer ones take longer than the turn; they, and whatever has its other side in host memory, are direct.
 */
#include "transport/direct/direct.h"

#include "base/tuning.h"
#include "bootstrap/job.h"
#include "transport/routes.h"
#include "transport/staged/staged.h"

#include <errno.h>

/* Not where SHMEM_GPU_ROUTE forces one of the two ways. */
static int shared_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    if (!share || !share->is_same_device || !view->in_turns || view->pe == shmemi_job.pe ||
        !shmemi_route_is_allowed(SHMEMI_ROUTE_IPC, true) || !shmemi_route_is_allowed(SHMEMI_ROUTE_STAGED, true))
        return -ENOTSUP;
    return shmemi_direct_import(view, share, share->own);
}

static bool goes_by_request(const struct shmemi_transfer *transfer)
{
    const size_t nbytes = transfer->shape.width;
    return transfer->shape.rows == 1 && nbytes && nbytes <= SHMEMI_SHARED_REQUEST_MOST &&
           transfer->mine.memory == transfer->view->place.memory;
}

static int shared_transfer(const struct shmemi_transfer *transfer)
{
    return goes_by_request(transfer) ? shmemi_staged_transfer(transfer) : shmemi_direct_transfer(transfer);
}

static int put_signal(const struct shmemi_transfer *put, const struct shmemi_word_update *signal)
{
    return goes_by_request(put) ? shmemi_staged_put_signal(put, signal) : shmemi_direct_put_signal(put, signal);
}

const struct shmemi_driver shmemi_driver_shared = {
    .name = "shared",
    .is_direct = true,
    .copies_itself = true,
    .sinks = SHMEMI_SINK_LIST | SHMEMI_SINK_ROWS,
    .attach = shared_attach,
    .detach = shmemi_direct_release,
    .transfer = shared_transfer,
    .amo = shmemi_direct_amo,
    .is_left_to_owner = goes_by_request,
    .put_signal = put_signal,
};
