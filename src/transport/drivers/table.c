/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of drivers, and what concerns all of them: attaching views, fence, quiet.
 *
 * Which way a transfer takes is decided in four steps:
 *   1. here, when an object is mapped or a PE first used: the first driver in the table that accepts the view. What each
 *      accepts is its attach function's to say (the files of transport/direct, staged/staged.c, ucx/ucx_rma.c, ucx/gdr.c;
 *      whether GPUs reach each other: gpu/cuda/ipc/ipc.c). SHMEM_GPU_ROUTE leaves drivers out (base/settings.c).
 *   2. transport/collect/hold_back.h: does a small one wait for others?
 *   3. the driver's transfer function: some leave a transfer to the owner of the memory (is_left_to_owner).
 *   4. gpu/device/gpu_copy.c, enqueue.c: which call of the driver of GPUs, a kernel, or a copy by way of the host.
 * transport/routes.h has what users read about it (shmemx_route, oshinfo).
 */
#include "transport/drivers/table.h"

#include "base/settings.h"

#include "base/log.h"
#include "bootstrap/job.h"
#include "transport/request.h"

#include <errno.h>
#include <string.h>

/* In the order in which they are offered a view: the most direct first. */
static const struct shmemi_driver *const table[] = {
    &shmemi_driver_shm,    &shmemi_driver_cma, &shmemi_driver_local, &shmemi_driver_shared, &shmemi_driver_ipc,
    &shmemi_driver_shadow, &shmemi_driver_ucx, &shmemi_driver_gdr,   &shmemi_driver_naive,  &shmemi_driver_staged,
};

enum { N_DRIVERS = sizeof table / sizeof table[0] };

/* Can this PE have the memory's atomic unit carry out its atomic operations? */
static bool reaches_unit(const struct shmemi_view *view, const struct shmemi_share *share,
                         const struct shmemi_driver *driver)
{
    const struct shmemi_memory *memory = view->place.memory;
    if (!driver->is_direct || !share || !memory->atomic_units)
        return false;
    return share->atomic_unit.exists &&
           (view->pe == shmemi_job.pe || memory->atomic_units->reaches(&view->place, &share->atomic_unit));
}

/* Whoever measures must see each operation, and so must SHMEM_CHECK: view->mapped is cleared, and the driver does what
 * the short ways of the API do otherwise. */
static void serve(struct shmemi_view *view, const struct shmemi_driver *driver)
{
    view->driver = driver;
    if (shmemi_measure.is_on || shmemi_settings.check)
        view->mapped = NULL;
}

int shmemi_view_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    view->link = shmemi_job_node_rank_of(view->pe) >= 0 ? &shmemi_link_ring : &shmemi_link_ucx;
    for (int i = 0; i < N_DRIVERS; i++) {
        int rc = table[i]->attach(view, share);
        if (rc == -ENOTSUP)
            continue;
        if (!rc) {
            view->by_atomic_unit = reaches_unit(view, share, table[i]);
            serve(view, table[i]);
        }
        return rc;
    }
    shmemi_error("no route to the %s memory of PE %d that SHMEM_GPU_ROUTE allows", view->place.memory->name, view->pe);
    return -ENOTSUP;
}

const char *shmemi_driver_name(unsigned number)
{
    return number < N_DRIVERS ? table[number]->name : NULL;
}

unsigned shmemi_driver_number(const struct shmemi_driver *driver)
{
    unsigned number = 0;
    while (table[number] != driver)
        number++;
    return number;
}

void shmemi_view_detach(struct shmemi_view *view)
{
    if (view->driver)
        view->driver->detach(view);
    view->driver = NULL;
}

static const struct shmemi_completion *const completing[SHMEMI_PENDING_KINDS] = {
    [SHMEMI_PENDING_DIRECT] = &shmemi_completion_direct,
    [SHMEMI_PENDING_UCX] = &shmemi_completion_ucx,
    [SHMEMI_PENDING_STAGED] = &shmemi_completion_staged,
};

/* ---- Fence, quiet, poll ------------------------------------------------------------------------------------------ */

static int quiet_kind(struct shmemi_context *context, int kind)
{
    struct shmemi_count *count = &context->pending.of[kind];
    uint64_t issued = shmemi_count_issued(count);
    if (shmemi_count_is_settled(count, issued))
        return 0;
    int rc = completing[kind]->quiet(context);
    if (!rc)
        shmemi_count_settle(count, issued);
    return rc;
}

static int fence_kind(struct shmemi_context *context, int kind)
{
    const struct shmemi_count *count = &context->pending.of[kind];
    if (completing[kind]->fence_completes)
        return quiet_kind(context, kind);
    return shmemi_count_is_settled(count, shmemi_count_issued(count)) ? 0 : completing[kind]->fence(context);
}

static int poll_kind(struct shmemi_context *context, int kind)
{
    const struct shmemi_count *count = &context->pending.of[kind];
    return shmemi_count_is_settled(count, shmemi_count_issued(count)) ? 0 : completing[kind]->poll(context);
}

static inline int deliver_and(int (*act)(struct shmemi_context *, int kind), struct shmemi_context *context)
{
    int rc = shmemi_collect_deliver(context);
    for (int kind = 0; kind < SHMEMI_PENDING_KINDS && !rc; kind++)
        rc = act(context, kind);
    return rc;
}

int shmemi_drivers_fence(struct shmemi_context *context)
{
    return deliver_and(fence_kind, context);
}

int shmemi_drivers_quiet(struct shmemi_context *context)
{
    return deliver_and(quiet_kind, context);
}

int shmemi_drivers_poll(struct shmemi_context *context)
{
    return deliver_and(poll_kind, context);
}

/* ---- This PE's own memory ---------------------------------------------------------------------------------------- */

int shmemi_drivers_expose(uint32_t region, const struct shmemi_allocation *allocation, size_t size, char *reason,
                          size_t reason_size)
{
    int rc = 0;
    for (int i = 0; i < N_DRIVERS && !rc && shmemi_job.n_nodes > 1; i++)
        if (table[i]->exposing)
            rc = table[i]->exposing->expose(region, allocation, size, reason, reason_size);
    return rc;
}

void shmemi_drivers_hide(uint32_t region)
{
    for (int i = 0; i < N_DRIVERS && shmemi_job.n_nodes > 1; i++)
        if (table[i]->exposing)
            table[i]->exposing->hide(region);
}
