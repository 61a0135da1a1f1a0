/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Drivers for GPU memory that this process reaches by an address of its own:
 *   "local"     this PE's own mapped objects
 *   "cuda-ipc"  objects of other PEs of the node, whose allocation this process has opened
 * A transfer is one copy by the memory kind, without the owner. Nonblocking ones are started and collected at quiet.
 * Atomic operations are the owner's: a GPU's memory has no atomic operations that CPUs and several processes share.
 */
#include "base/log.h"
#include "base/settings.h"
#include "transport/driver.h"
#include "transport/job.h"
#include "transport/request.h"
#include "transport/service.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum { IN_FLIGHT_MAX = 256 }; /* copies of a context */

/* A copy under way. */
struct shmemi_copy {
    struct shmemi_copy *next; /* of its context */
    uint64_t number;          /* from 1, by context */
    struct shmemi_event event;
};

/* The lock of all contexts' lists; held for a few instructions and a look at an event, never for a wait. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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

/* ---- Copies under way -------------------------------------------------------------------------------------------- */

/* The number of the copy on its context. */
static uint64_t append(struct shmemi_context *context, struct shmemi_copy *copy)
{
    pthread_mutex_lock(&lock);
    copy->next = NULL;
    copy->number = ++context->copies.started;
    if (context->copies.newest)
        context->copies.newest->next = copy;
    else
        context->copies.oldest = copy;
    context->copies.newest = copy;
    pthread_mutex_unlock(&lock);
    return copy->number;
}

/* Is the oldest copy of the context complete? Then it is not among them any more. With the lock held. */
static bool collect_oldest(struct shmemi_context *context)
{
    struct shmemi_copy *copy = context->copies.oldest;
    int rc = copy->event.memory->event_test(&copy->event);
    if (rc == -EAGAIN)
        return false;
    if (rc && !context->copies.failed)
        context->copies.failed = rc;
    context->copies.oldest = copy->next;
    if (!copy->next)
        context->copies.newest = NULL;
    free(copy);
    return true;
}

static bool are_complete(struct shmemi_context *context, uint64_t number)
{
    pthread_mutex_lock(&lock);
    while (context->copies.oldest && context->copies.oldest->number <= number && collect_oldest(context))
        continue;
    bool complete = !context->copies.oldest || context->copies.oldest->number > number;
    pthread_mutex_unlock(&lock);
    return complete;
}

/* Wait for the copies up to this number. */
static void complete(struct shmemi_context *context, uint64_t number)
{
    unsigned spins = 0;
    while (!are_complete(context, number))
        shmemi_progress(&spins);
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
    struct shmemi_copy *copy = malloc(sizeof *copy);
    if (!copy)
        return shmemi_memory_copy(dest, source, &shape);
    int rc = memory->copy_start(dest, source, &shape, &copy->event);
    if (rc) {
        free(copy);
        return rc;
    }
    uint64_t number = append(context, copy);
    shmemi_pending_issue(&context->pending, SHMEMI_PENDING_DIRECT);
    if (number > IN_FLIGHT_MAX)
        complete(context, number - IN_FLIGHT_MAX);
    return 0;
}

/* ---- Transfers --------------------------------------------------------------------------------------------------- */

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

static int direct_quiet(struct shmemi_context *context)
{
    pthread_mutex_lock(&lock);
    uint64_t started = context->copies.started;
    pthread_mutex_unlock(&lock);
    complete(context, started);
    pthread_mutex_lock(&lock);
    int rc = context->copies.failed;
    context->copies.failed = 0;
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- Atomic operations ------------------------------------------------------------------------------------------- */

static int local_amo(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                     const struct shmemi_amo *amo, void *fetch_p)
{
    (void)context;
    struct shmemi_place word = place_at(view, offset);
    return shmemi_service_amo(&word, amo, fetch_p);
}

/* The view as the driver of requests knows it. */
static struct shmemi_view request_view(const struct shmemi_view *view)
{
    struct shmemi_view copy = *view;
    copy.data = (void *)&shmemi_link_ring;
    return copy;
}

static int ipc_amo(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                   const struct shmemi_amo *amo, void *fetch_p)
{
    struct shmemi_view by_request = request_view(view);
    return shmemi_driver_staged.amo(context, &by_request, offset, amo, fetch_p);
}

static int ipc_amo_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                       const struct shmemi_amo *amo, void *fetch_p)
{
    struct shmemi_view by_request = request_view(view);
    return shmemi_driver_staged.amo_nbi(context, &by_request, offset, amo, fetch_p);
}

#define DIRECT_TRANSFERS                                                                                               \
    .is_direct = true, .put = direct_put, .get = direct_get, .put_nbi = direct_put_nbi, .get_nbi = direct_get_nbi,     \
    .put_strided = direct_put_strided, .get_strided = direct_get_strided, .fence = direct_quiet, .quiet = direct_quiet

const struct shmemi_driver shmemi_driver_local = {
    .name = "local",
    .attach = local_attach,
    .detach = local_detach,
    DIRECT_TRANSFERS,
    .amo = local_amo,
    .amo_nbi = local_amo,
};

const struct shmemi_driver shmemi_driver_ipc = {
    .name = "cuda-ipc",
    .attach = ipc_attach,
    .detach = ipc_detach,
    DIRECT_TRANSFERS,
    .amo = ipc_amo,
    .amo_nbi = ipc_amo_nbi,
};
