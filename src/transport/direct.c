/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drivers for GPU memory that this process reaches by an address of its own:
 *   "local"     this PE's own mapped objects
 *   "cuda-ipc"  objects of other PEs of the node, whose allocation this process has opened
 * What they do with it: direct_transfers.c, direct_amo.c.
 */
#include "transport/direct.h"

#include "base/settings.h"
#include "transport/job.h"

#include <errno.h>
#include <stdlib.h>

static int local_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    (void)share;
    return view->pe == shmemi_job.pe && view->place.memory != &shmemi_memory_host ? 0 : -ENOTSUP;
}

static void local_detach(struct shmemi_view *view)
{
    (void)view;
}

static bool ipc_is_allowed(void)
{
    return shmemi_settings.gpu_route == SHMEMI_ROUTE_AUTO || shmemi_settings.gpu_route == SHMEMI_ROUTE_IPC;
}

static int ipc_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    const struct shmemi_memory *memory = view->place.memory;
    if (!share || view->pe == shmemi_job.pe || !memory->import_handle || !share->exported || !ipc_is_allowed())
        return -ENOTSUP;
    struct shmemi_memory_handle *handle = malloc(sizeof *handle);
    if (!handle)
        return -ENOMEM;
    *handle = share->handle;
    int rc = memory->import_handle(handle, share->my_device, &view->place);
    if (rc) {
        free(handle);
        return rc;
    }
    view->data = handle;
    return 0;
}

static void ipc_detach(struct shmemi_view *view)
{
    view->place.memory->release_handle(view->data, &view->place);
    free(view->data);
    view->data = NULL;
}

const struct shmemi_driver shmemi_driver_local = {
    .name = "local",
    .attach = local_attach,
    .detach = local_detach,
    SHMEMI_DIRECT_OPERATIONS,
};

const struct shmemi_driver shmemi_driver_ipc = {
    .name = "cuda-ipc",
    .attach = ipc_attach,
    .detach = ipc_detach,
    SHMEMI_DIRECT_OPERATIONS,
};
