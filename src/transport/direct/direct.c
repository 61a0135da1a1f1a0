/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drivers for GPU memory that this process reaches by an address of its own:
 *   "local"        this PE's own mapped objects
 *   "cuda-ipc"     objects of other PEs of the node, whose allocations this process has opened
 *   "cuda-shadow"  the same for a GPU that this PE's own GPU cannot access: the allocation is open in a context of this
 *                  process on the owner's GPU, and the memory kind copies between the two contexts
 * shared.c has a fourth, "shared"; transfers.c has their transfers.
 */
#include "transport/direct/direct.h"

#include "bootstrap/job.h"
#include "transport/collect/gpu_list.h"
#include "transport/routes.h"
#include "transport/staged/owner.h"
#include "transport/staged/staged.h"

#include <errno.h>
#include <stdlib.h>

static int local_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    (void)share;
    return view->pe == shmemi_job.pe && view->place.memory != &shmemi_memory_host ? 0 : -ENOTSUP;
}

int shmemi_direct_import(struct shmemi_view *view, const struct shmemi_share *share, const struct shmemi_place *user)
{
    const struct shmemi_memory *memory = view->place.memory;
    char reason[192] = "";
    if (!share || view->pe == shmemi_job.pe || !memory->sharing || !share->exported)
        return -ENOTSUP;
    struct shmemi_memory_handle *handle = malloc(sizeof *handle);
    if (!handle)
        return -ENOMEM;
    *handle = share->handle;
    int rc = memory->sharing->import_handle(handle, share->descriptors, user, &view->place, reason, sizeof reason);
    if (rc) {
        if (reason[0])
            shmemi_slow_route_note(view->pe, reason);
        free(handle);
        return rc;
    }
    view->data = handle;
    return 0;
}

static int ipc_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    return shmemi_route_is_allowed(SHMEMI_ROUTE_IPC, true)
               ? shmemi_direct_import(view, share, share ? share->own : NULL)
               : -ENOTSUP;
}

static int shadow_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    return shmemi_route_is_allowed(SHMEMI_ROUTE_SHADOW, true) ? shmemi_direct_import(view, share, NULL) : -ENOTSUP;
}

void shmemi_direct_release(struct shmemi_view *view)
{
    view->place.memory->sharing->release_handle(view->data, &view->place);
    free(view->data);
    view->data = NULL;
}

/* ---- Atomic operations -------------------------------------------------------------------------------------------
 * All PEs use the same agent for a word: the one unit that updates it, see gpu/memory.h. Where kernels of this library
 * run on the owner's GPU and kernels of this PE can access the memory, each PE has that GPU update the word. Otherwise
 * the owner does it for all, by its GPU or, without kernels, by load, modify and store. */

int shmemi_direct_amo(struct shmemi_context *context, const struct shmemi_word_update *update, void *fetch_p,
                      bool is_blocking)
{
    const struct shmemi_view *view = update->view;
    const struct shmemi_place word = shmemi_view_place(view, update->offset);
    if (view->by_atomic_unit && !context->by_engines)
        return (fetch_p && is_blocking ? shmemi_gpu_list_amo_now : shmemi_gpu_list_amo)(context, &word, &update->amo,
                                                                                        fetch_p);
    if (view->pe == shmemi_job.pe)
        return shmemi_owner_amo(&word, &update->amo, fetch_p);
    return shmemi_staged_amo(context, update, fetch_p, is_blocking);
}

/* ---- The drivers ------------------------------------------------------------------------------------------------- */

const struct shmemi_driver shmemi_driver_local = {
    .name = "local",
    .is_direct = true,
    .attach = local_attach,
    .detach = shmemi_nothing_to_detach,
    .copies_itself = true,
    .sinks = SHMEMI_SINK_LIST | SHMEMI_SINK_ROWS,
    .transfer = shmemi_direct_transfer,
    .amo = shmemi_direct_amo,
    .put_signal = shmemi_direct_put_signal,
};

const struct shmemi_driver shmemi_driver_ipc = {
    .name = "cuda-ipc",
    .is_direct = true,
    .attach = ipc_attach,
    .detach = shmemi_direct_release,
    .copies_itself = true,
    .sinks = SHMEMI_SINK_LIST | SHMEMI_SINK_ROWS,
    .transfer = shmemi_direct_transfer,
    .amo = shmemi_direct_amo,
    .put_signal = shmemi_direct_put_signal,
};

/* The owner's GPU is used by two processes here, which take turns unless there is MPS: what this one copies there waits
 * for its turn while the owner computes. A request is carried out in the owner's turn. */
const struct shmemi_driver shmemi_driver_shadow = {
    .name = "cuda-shadow",
    .attach = shadow_attach,
    .detach = shmemi_direct_release,
    .copies_itself = true,
    .sinks = SHMEMI_SINK_LIST | SHMEMI_SINK_ROWS,
    .transfer = shmemi_direct_transfer,
    .amo = shmemi_direct_amo,
    .put_signal = shmemi_staged_put_signal,
};
