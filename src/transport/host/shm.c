/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Driver "shm": the host memory of this node's PEs, mapped in this process. Loads, stores and CPU atomics; every
 * operation is complete when it returns.
 */
#include "base/copy_bytes.h"
#include "base/tuning.h"
#include "transport/driver.h"
#include "bootstrap/job.h"
#include "transport/node.h"

#include <errno.h>

/* Other PEs' heaps are mapped with the node segment. This PE's own memory needs no mapping, whatever the region. */
static int shm_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    if (!share || view->place.memory != &shmemi_memory_host)
        return -ENOTSUP;
    if (view->pe == shmemi_job.pe)
        view->mapped = (char *)(uintptr_t)share->address;
    else if (view->region == SHMEMI_REGION_HEAP)
        view->mapped = shmemi_node_heap(shmemi_job_node_rank_of(view->pe));
    else
        return -ENOTSUP;
    view->place = shmemi_place_host(view->mapped);
    return 0;
}

static void shm_detach(struct shmemi_view *view)
{
    view->mapped = NULL;
}

/* Page-lock the heap of another PE for a device that copies much to or from it, when that happens first. A heap that
 * the device does not know is copied at a fraction of the speed, so that two copies by hand would take less time. */
static void lock_heap(const struct shmemi_view *view, const struct shmemi_place *local, size_t nbytes)
{
    const struct shmemi_pinning *pinning = local->memory->pinning;
    char *heap = (char *)view->place.address;
    if (nbytes < SHMEMI_SHM_LOCK_LEAST || view->region != SHMEMI_REGION_HEAP || !pinning || !pinning->is_independent ||
        !pinning->helps(local) || pinning->is_pinned(heap, view->size))
        return;
    pinning->pin(heap, view->size);
}

static int shm_transfer(const struct shmemi_transfer *transfer)
{
    const struct shmemi_ends ends = shmemi_transfer_ends(transfer);
    const struct shmemi_shape *shape = &transfer->shape;
    if (shmemi_transfer_is_host(transfer) && shape->rows == 1) {
        shmemi_copy_bytes((void *)ends.dest.address, (const void *)ends.source.address, shape->width);
        return 0;
    }
    lock_heap(transfer->view, &transfer->mine, shmemi_transfer_bytes(transfer));
    return shmemi_memory_copy(&ends.dest, &ends.source, shape);
}

static int shm_amo(struct shmemi_context *context, const struct shmemi_word_update *update, void *fetch_p,
                   bool is_blocking)
{
    (void)context, (void)is_blocking;
    uint64_t old = shmemi_amo_apply((char *)update->view->place.address + update->offset, &update->amo);
    if (fetch_p)
        shmemi_copy_bytes(fetch_p, &old, update->amo.size);
    return 0;
}

const struct shmemi_driver shmemi_driver_shm = {
    .name = "shm",
    .is_direct = true,
    .copies_itself = true,
    .attach = shm_attach,
    .detach = shm_detach,
    .transfer = shm_transfer,
    .amo = shm_amo,
};
