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

static void *address_at(const struct shmemi_view *view, size_t offset)
{
    return (char *)view->place.address + offset;
}

static struct shmemi_place place_at(const struct shmemi_view *view, size_t offset)
{
    return shmemi_place_host(address_at(view, offset));
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

static int shm_put(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                   const struct shmemi_place *source, size_t nbytes)
{
    (void)context;
    if (source->memory == &shmemi_memory_host) {
        shmemi_copy_bytes(address_at(view, offset), (const void *)source->address, nbytes);
        return 0;
    }
    struct shmemi_place dest = place_at(view, offset);
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    lock_heap(view, source, nbytes);
    return shmemi_memory_copy(&dest, source, &shape);
}

static int shm_get(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                   const struct shmemi_place *dest, size_t nbytes)
{
    (void)context;
    if (dest->memory == &shmemi_memory_host) {
        shmemi_copy_bytes((void *)dest->address, address_at(view, offset), nbytes);
        return 0;
    }
    struct shmemi_place source = place_at(view, offset);
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    lock_heap(view, dest, nbytes);
    return shmemi_memory_copy(dest, &source, &shape);
}

static int shm_put_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                           const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    (void)context;
    struct shmemi_place dest = place_at(view, offset);
    lock_heap(view, source, shape->width * shape->rows);
    return shmemi_memory_copy(&dest, source, shape);
}

static int shm_get_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                           const struct shmemi_place *dest, const struct shmemi_shape *shape)
{
    (void)context;
    struct shmemi_place source = place_at(view, offset);
    lock_heap(view, dest, shape->width * shape->rows);
    return shmemi_memory_copy(dest, &source, shape);
}

static int shm_amo(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                   const struct shmemi_amo *amo, void *fetch_p)
{
    (void)context;
    uint64_t old = shmemi_amo_apply(address_at(view, offset), amo);
    if (fetch_p)
        shmemi_copy_bytes(fetch_p, &old, amo->size);
    return 0;
}

const struct shmemi_driver shmemi_driver_shm = {
    .name = "shm",
    .is_direct = true,
    .copies_itself = true,
    .attach = shm_attach,
    .detach = shm_detach,
    .put = shm_put,
    .get = shm_get,
    .put_nbi = shm_put,
    .get_nbi = shm_get,
    .put_strided = shm_put_strided,
    .put_strided_nbi = shm_put_strided,
    .get_strided = shm_get_strided,
    .get_strided_nbi = shm_get_strided,
    .amo = shm_amo,
    .amo_nbi = shm_amo,
};
