/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Driver "gdr": GPU memory of PEs of other nodes by UCX's one-sided operations, without the owner's staging. Each PE
 * registers its mapped objects with UCX as memory of their type; a peer's key is fetched when it is first needed.
 *
 * It is used only where network adapters access GPU memory themselves: the GPU's driver must allow it, which is seen
 * from the kernel's modules, and the connection to the peer must be RDMA, which UCX tells. Elsewhere UCX would copy
 * through host memory, more slowly than "staged" does; with UCX 1.22 over tcp, processes crashed on it. So
 * SHMEM_GPU_ROUTE=gdr is refused there.
 *
 * Atomic operations, and transfers of many short rows, are requests to the owner. If a peer turns out to be out of
 * reach, everything is a request, or an error if the user has asked for gdr.
 */
#include "base/log.h"
#include "base/settings.h"
#include "bootstrap/job.h"
#include "transport/service.h"
#include "transport/staged/staged.h"
#include "transport/ucx/ucx_internal.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* ---- Where it is used -------------------------------------------------------------------------------------------- */

/* Can network adapters register the GPU's memory? */
static bool has_peer_memory(void)
{
    return !access("/sys/module/nvidia_peermem", F_OK) || !access("/sys/kernel/mm/memory_peers/nv_mem", F_OK);
}

static bool is_forced(void)
{
    return shmemi_settings.gpu_route == SHMEMI_ROUTE_GDR;
}

bool shmemi_gdr_is_wanted(void)
{
    return is_forced() || (shmemi_settings.gpu_route == SHMEMI_ROUTE_AUTO && has_peer_memory());
}

/* Is the connection RDMA? If UCX cannot tell, the answer is yes if the user has asked for gdr. */
static bool is_native(int pe)
{
    ucp_ep_h endpoint;
    if (shmemi_ucx_endpoint_locked(pe, &endpoint))
        return false;
    enum shmemi_ucx_rdma rdma = shmemi_ucx_is_rdma(endpoint);
    pthread_mutex_unlock(&shmemi_ucx.initiator_lock);
    return rdma == SHMEMI_UCX_RDMA || (rdma == SHMEMI_UCX_RDMA_UNKNOWN && is_forced());
}

/* The connection to the first PE of another node is taken as an example of all. */
static bool is_connected_natively(void)
{
    int pe = 0;
    while (pe < shmemi_job.n_pes && shmemi_job_node_rank_of(pe) >= 0)
        pe++;
    return pe < shmemi_job.n_pes && is_native(pe);
}

/* The reason why gdr cannot be used for this kind of memory; NULL: it can. */
static const char *hindrance(const struct shmemi_memory *memory)
{
    if (memory->type != SHMEMI_MEMTYPE_CUDA)
        return "SHMEM_GPU_ROUTE=gdr is for CUDA memory only";
    if (!shmemi_ucx_supports(UCS_MEMORY_TYPE_CUDA))
        return "SHMEM_GPU_ROUTE=gdr needs a UCX with CUDA support, and UCX_TLS must not exclude it";
    if (!has_peer_memory())
        return "SHMEM_GPU_ROUTE=gdr needs a kernel module that lets adapters into the GPU, as nvidia_peermem";
    if (!is_connected_natively())
        return "SHMEM_GPU_ROUTE=gdr needs a network with RDMA between the nodes";
    return NULL;
}

static int gdr_expose(uint32_t region, const struct shmemi_allocation *allocation, size_t size, char *reason,
                      size_t reason_size)
{
    if (allocation->place.memory == &shmemi_memory_host || !shmemi_gdr_is_wanted())
        return 0;
    const char *cause = hindrance(allocation->place.memory), *status = NULL;
    bool is_managed = allocation->class == SHMEMI_CLASS_CUDA_MANAGED;
    if (!cause && !shmemi_ucx_expose_typed(region, (void *)allocation->place.address, size,
                                           is_managed ? UCS_MEMORY_TYPE_CUDA_MANAGED : UCS_MEMORY_TYPE_CUDA, &status)) {
        shmemi_service_adopt(&allocation->place);
        return 0;
    }
    if (cause)
        snprintf(reason, reason_size, "%s", cause);
    else
        snprintf(reason, reason_size, "UCX cannot register it: %s", status);
    shmemi_debug("gdr is not used for region %u: %s", region, reason);
    return is_forced() ? -ENOTSUP : 0;
}

/* When forced, it accepts even memory that it cannot serve: shmemi_gdr_expose has refused that with a reason. */
static int gdr_attach(struct shmemi_view *view, const struct shmemi_share *share)
{
    const struct shmemi_memory *memory = view->place.memory;
    if (share || !memory || !shmemi_gdr_is_wanted() || (hindrance(memory) && !is_forced()))
        return -ENOTSUP;
    return shmemi_ucx_attach_view(view, true);
}

int shmemi_gdr_target_of(const struct shmemi_view *view, const struct shmemi_ucx_target **target_p)
{
    struct shmemi_ucx_target *target = view->data;
    if (atomic_load_explicit(&target->by_request, memory_order_relaxed))
        return -ENOTSUP;
    int rc = shmemi_ucx_target_of(view, target_p);
    if (!rc && atomic_load_explicit(&target->is_native, memory_order_relaxed))
        return 0;
    if (!rc && !is_native(target->pe))
        rc = -ENOTSUP;
    if (rc != -ENOTSUP) {
        atomic_store_explicit(&target->is_native, !rc, memory_order_relaxed);
        return rc;
    }
    if (is_forced()) {
        shmemi_error("PE %d cannot be reached by gdr: its region %u is not registered there, or the connection is not "
                     "RDMA; leave the choice to SHMEM_GPU_ROUTE=auto",
                     view->pe, view->region);
        return -EACCES;
    }
    shmemi_debug("gdr: region %u of PE %d is reached by requests", view->region, view->pe);
    atomic_store_explicit(&target->by_request, true, memory_order_relaxed);
    return -ENOTSUP;
}

static const struct shmemi_exposing gdr_exposing = {.expose = gdr_expose, .hide = shmemi_ucx_hide};

const struct shmemi_driver shmemi_driver_gdr = {
    .name = "gdr",
    .attach = gdr_attach,
    .detach = shmemi_ucx_detach_view,
    .sinks = SHMEMI_SINK_BATCH_IN_SESSION,
    .transfer = shmemi_ucx_transfer,
    .amo = shmemi_staged_amo,
    .exposing = &gdr_exposing,
};
