/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drivers for GPU memory that this process reaches by an address of its own:
 *   "local"     this PE's own mapped objects
 *   "cuda-ipc"  objects of other PEs of the node, whose allocation this process has opened
 * A transfer is one copy by the memory kind, without the owner. Nonblocking ones are started and collected at quiet.
 */
#include "base/log.h"
#include "base/settings.h"
#include "transport/driver.h"
#include "transport/job.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum { IN_FLIGHT_MAX = 256 };

/* Copies started and not waited for, oldest first; shared by all contexts. */
static struct {
    pthread_mutex_t lock;
    struct shmemi_event event[IN_FLIGHT_MAX];
    unsigned head, count;
    int failed; /* first error of a collected copy, reported at the next quiet */
} in_flight = {.lock = PTHREAD_MUTEX_INITIALIZER};

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

static struct shmemi_place place_at(const struct shmemi_view *view, size_t offset)
{
    struct shmemi_place place = view->place;
    place.address += offset;
    return place;
}

/* Collect the oldest copy. With the lock held. */
static void collect_oldest(void)
{
    struct shmemi_event *event = &in_flight.event[in_flight.head];
    int rc = event->memory->event_wait(event);
    if (rc && !in_flight.failed)
        in_flight.failed = rc;
    in_flight.head = (in_flight.head + 1) % IN_FLIGHT_MAX;
    in_flight.count--;
}

/* A copy that one kind can start alone: the other side is host memory or of the same kind. */
static bool can_start(const struct shmemi_place *dest, const struct shmemi_place *source)
{
    return dest->memory == source->memory || dest->memory == &shmemi_memory_host ||
           source->memory == &shmemi_memory_host;
}

static int start(struct shmemi_context *context, const struct shmemi_place *dest, const struct shmemi_place *source,
                 size_t nbytes)
{
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    if (!can_start(dest, source))
        return shmemi_memory_copy(dest, source, &shape);
    const struct shmemi_memory *memory = dest->memory == &shmemi_memory_host ? source->memory : dest->memory;
    pthread_mutex_lock(&in_flight.lock);
    if (in_flight.count == IN_FLIGHT_MAX)
        collect_oldest();
    unsigned slot = (in_flight.head + in_flight.count) % IN_FLIGHT_MAX;
    int rc = memory->copy_start(dest, source, &shape, &in_flight.event[slot]);
    if (!rc)
        in_flight.count++;
    pthread_mutex_unlock(&in_flight.lock);
    context->pending |= SHMEMI_PENDING_DIRECT;
    return rc;
}

static int direct_put(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_place *source, size_t nbytes)
{
    (void)context;
    struct shmemi_place dest = place_at(view, offset);
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    return shmemi_memory_copy(&dest, source, &shape);
}

static int direct_get(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_place *dest, size_t nbytes)
{
    (void)context;
    struct shmemi_place source = place_at(view, offset);
    struct shmemi_shape shape = shmemi_shape_linear(nbytes);
    return shmemi_memory_copy(dest, &source, &shape);
}

static int direct_put_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                          const struct shmemi_place *source, size_t nbytes)
{
    struct shmemi_place dest = place_at(view, offset);
    return start(context, &dest, source, nbytes);
}

static int direct_get_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                          const struct shmemi_place *dest, size_t nbytes)
{
    struct shmemi_place source = place_at(view, offset);
    return start(context, dest, &source, nbytes);
}

static int direct_put_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                              const struct shmemi_place *source, const struct shmemi_shape *shape)
{
    (void)context;
    struct shmemi_place dest = place_at(view, offset);
    return shmemi_memory_copy(&dest, source, shape);
}

static int direct_get_strided(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                              const struct shmemi_place *dest, const struct shmemi_shape *shape)
{
    (void)context;
    struct shmemi_place source = place_at(view, offset);
    return shmemi_memory_copy(dest, &source, shape);
}

static int direct_amo(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_amo *amo, void *fetch_p)
{
    (void)context;
    (void)offset;
    (void)amo;
    (void)fetch_p;
    shmemi_error("atomic operations on mapped %s memory (PE %d) are not supported",
                 shmemi_memory_type_name(view->place.memory->type), view->pe);
    return -ENOTSUP;
}

static int direct_quiet(struct shmemi_context *context)
{
    (void)context;
    pthread_mutex_lock(&in_flight.lock);
    while (in_flight.count)
        collect_oldest();
    int rc = in_flight.failed;
    in_flight.failed = 0;
    pthread_mutex_unlock(&in_flight.lock);
    return rc;
}

#define DIRECT_OPERATIONS                                                                                              \
    .is_direct = true, .bit = SHMEMI_PENDING_DIRECT, .put = direct_put, .get = direct_get, .put_nbi = direct_put_nbi, .get_nbi = direct_get_nbi,     \
    .put_strided = direct_put_strided, .get_strided = direct_get_strided, .amo = direct_amo, .amo_nbi = direct_amo, .fence = direct_quiet,    \
    .quiet = direct_quiet

const struct shmemi_driver shmemi_driver_local = {
    .name = "local",
    .attach = local_attach,
    .detach = local_detach,
    DIRECT_OPERATIONS,
};

const struct shmemi_driver shmemi_driver_ipc = {
    .name = "cuda-ipc",
    .attach = ipc_attach,
    .detach = ipc_detach,
    DIRECT_OPERATIONS,
};
