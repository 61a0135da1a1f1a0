/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA memory of other processes of the node, open in this one.
 *
 * An allocation is opened once in a context, however many mapped objects lie in it; a list has those that are open and
 * counts their users. How one is opened depends on what made it (gpu/cuda/ipc/handle.h). The handle carries the UUID of
 * the owner's device, because ordinals differ between processes that see different devices (CUDA_VISIBLE_DEVICES). It
 * also carries a random number of the owning process, which tells apart two processes that have allocations at the same
 * address. Process ids would not do: they repeat in containers.
 */
#include "gpu/cuda/ipc/handle.h"
#include "gpu/device/gpu_copies.h"
#include "gpu/device/kernels/kernel_lists.h"

#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t imports_lock = PTHREAD_MUTEX_INITIALIZER;
static struct shmemi_cuda_import *imports;

/* The way to open memory of a class; NULL: other processes cannot open it. */
static const struct shmemi_cuda_way *way_of(int class)
{
    switch (class) {
    case SHMEMI_CLASS_CUDA_MALLOC:
        return &shmemi_cuda_way_legacy;
    case SHMEMI_CLASS_CUDA_VMM:
        return &shmemi_cuda_way_vmm;
    case SHMEMI_CLASS_CUDA_POOL:
        return &shmemi_cuda_way_pool;
    default:
        return NULL;
    }
}

/* ---- The owner's side -------------------------------------------------------------------------------------------- */

static uint64_t owner_number;

static void make_owner_number(void)
{
    struct timespec now;
    if (getrandom(&owner_number, sizeof owner_number, 0) == sizeof owner_number)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    owner_number = (uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 48;
}

static int fill_ticket(const struct shmemi_allocation *allocation, struct shmemi_cuda_ticket *ticket)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct shmemi_gpu_context *context = allocation->place.object;
    pthread_once(&once, make_owner_number);
    ticket->owner = owner_number;
    ticket->class = (int32_t)allocation->class;
    return CUDA_CALL(cuDeviceGetUuid, &ticket->device, context->handle);
}

static int export_by(const struct shmemi_cuda_way *way, const struct shmemi_allocation *allocation,
                     struct shmemi_cuda_ticket *ticket, struct shmemi_memory_handle *handle,
                     struct shmemi_descriptors *descriptors, char *reason, size_t reason_size)
{
    bool pushed;
    int rc = shmemi_gpu_enter(allocation->place.object, &pushed);
    if (rc)
        return rc;
    CUresult result = way->export(allocation, ticket, handle, descriptors);
    shmemi_gpu_leave(pushed);
    if (result == CUDA_SUCCESS)
        return 0;
    shmemi_descriptors_close(descriptors);
    snprintf(reason, reason_size, "memory of class %s cannot be shared with other PEs: %s",
             shmemi_memory_class_name(allocation->class), shmemi_cuda_error_text(result));
    return -ENOTSUP;
}

static int export_handle(const struct shmemi_allocation *allocation, struct shmemi_memory_handle *handle_p,
                         struct shmemi_descriptors *descriptors_p, char *reason, size_t reason_size)
{
    const struct shmemi_cuda_way *way = way_of((int)allocation->class);
    struct shmemi_cuda_ticket ticket = {.class = 0};
    struct shmemi_memory_handle handle = {
        .buffer_id = allocation->buffer_id,
        .base = allocation->base,
        .size = allocation->size,
        .offset = allocation->place.address - allocation->base,
        .device = allocation->device,
        .type = SHMEMI_MEMTYPE_CUDA,
    };
    descriptors_p->count = 0;
    if (!way) {
        snprintf(reason, reason_size, "%s", shmemi_memory_class_remedy(allocation->class));
        return -ENOTSUP;
    }
    int rc = fill_ticket(allocation, &ticket);
    if (!rc)
        rc = export_by(way, allocation, &ticket, &handle, descriptors_p, reason, reason_size);
    if (rc)
        return rc;
    memcpy(handle.opaque, &ticket, sizeof ticket);
    *handle_p = handle;
    return 0;
}

/* ---- The other processes' side ----------------------------------------------------------------------------------- */

/* This process's device with the UUID; false when it sees none. */
static bool find_device(const CUuuid *uuid, int *ordinal_p, CUdevice *device_p)
{
    int count = 0;
    shmemi_cuda.cuDeviceGetCount(&count);
    for (int i = 0; i < count; i++) {
        CUdevice device;
        CUuuid candidate;
        if (shmemi_cuda.cuDeviceGet(&device, i) || shmemi_cuda.cuDeviceGetUuid(&candidate, device))
            continue;
        if (!memcmp(&candidate, uuid, sizeof candidate)) {
            *ordinal_p = i;
            *device_p = device;
            return true;
        }
    }
    return false;
}

/* Nothing can be found out about a device that this process does not see; opening the handle shows whether it works. */
static int check_peer_access(const struct shmemi_gpu_context *context, const CUuuid *owner)
{
    CUdevice device;
    int ordinal, can_access = 0;
    if (!find_device(owner, &ordinal, &device) || device == context->handle)
        return 0;
    int rc = CUDA_CALL(cuDeviceCanAccessPeer, &can_access, context->handle, device);
    if (rc)
        return rc;
    if (!can_access)
        shmemi_info("CUDA devices %d and %d have no access to each other's memory", context->device, ordinal);
    return can_access ? 0 : -ENOTSUP;
}

/* A process never gives the same buffer id to two allocations; 0 means that the id is not known. */
static bool is_same(const struct shmemi_cuda_import *import, const struct shmemi_memory_handle *handle,
                    const struct shmemi_cuda_ticket *ticket, const struct shmemi_gpu_context *context)
{
    return import->context == context && import->ticket.owner == ticket->owner && import->base == handle->base &&
           import->size == handle->size && handle->buffer_id && import->buffer_id == handle->buffer_id;
}

static void unmap(struct shmemi_cuda_import *import)
{
    bool pushed;
    if (!import->mapped || shmemi_gpu_enter(import->context, &pushed))
        return;
    CUresult result = way_of(import->ticket.class)->unmap(import);
    if (result != CUDA_SUCCESS)
        shmemi_debug("closing memory of another PE: %s", shmemi_cuda_error_text(result));
    shmemi_gpu_leave(pushed);
    import->mapped = 0;
}

/* Close old allocations that are open here although the owner has freed them and has a new one at their address: the
 * driver would take the two for the same. */
static void unmap_stale(const struct shmemi_cuda_import *fresh)
{
    if (!way_of(fresh->ticket.class)->is_whole)
        return;
    for (struct shmemi_cuda_import *import = imports; import; import = import->next) {
        bool overlaps = import->base < fresh->base + fresh->size && fresh->base < import->base + import->size;
        if (overlaps && import->ticket.owner == fresh->ticket.owner && import->ticket.class == fresh->ticket.class &&
            import->buffer_id != fresh->buffer_id)
            unmap(import);
    }
}

static int map(struct shmemi_cuda_import *import, const struct shmemi_descriptors *descriptors, char *reason,
               size_t reason_size)
{
    bool pushed;
    unmap_stale(import);
    int rc = shmemi_gpu_enter(import->context, &pushed);
    if (rc)
        return rc;
    CUresult result = way_of(import->ticket.class)->map(import, descriptors);
    shmemi_gpu_leave(pushed);
    if (result == CUDA_SUCCESS)
        return 0;
    import->mapped = 0;
    const char *hint =
        result == CUDA_ERROR_INVALID_HANDLE ? " (is memory of that PE open in another CUDA context?)" : "";
    snprintf(reason, reason_size, "memory of class %s of another PE cannot be opened: %s%s",
             shmemi_memory_class_name((enum shmemi_memory_class)import->ticket.class), shmemi_cuda_error_text(result),
             hint);
    return -ENOTSUP;
}

static struct shmemi_cuda_import *create(const struct shmemi_memory_handle *handle,
                                         const struct shmemi_cuda_ticket *ticket, struct shmemi_gpu_context *context)
{
    struct shmemi_cuda_import *import = calloc(1, sizeof *import);
    if (!import) {
        shmemi_error("out of memory for an imported CUDA allocation");
        return NULL;
    }
    import->ticket = *ticket;
    import->base = handle->base;
    import->size = handle->size;
    import->buffer_id = handle->buffer_id;
    import->context = context;
    import->next = imports;
    imports = import;
    return import;
}

static void remove_unused(struct shmemi_cuda_import *import)
{
    struct shmemi_cuda_import **link = &imports;
    if (import->users)
        return;
    while (*link != import)
        link = &(*link)->next;
    *link = import->next;
    unmap(import);
    free(import);
}

/* Add a user to the allocation, and open it if it is not open yet. With the lock held. */
static int acquire(const struct shmemi_memory_handle *handle, const struct shmemi_cuda_ticket *ticket,
                   const struct shmemi_descriptors *descriptors, struct shmemi_gpu_context *context,
                   CUdeviceptr *mapped_p, char *reason, size_t reason_size)
{
    struct shmemi_cuda_import *import = imports;
    while (import && !is_same(import, handle, ticket, context))
        import = import->next;
    if (!import)
        import = create(handle, ticket, context);
    if (!import)
        return -ENOMEM;
    int rc = import->mapped ? 0 : map(import, descriptors, reason, reason_size);
    if (rc) {
        remove_unused(import);
        return rc;
    }
    import->users++;
    *mapped_p = import->mapped;
    return 0;
}

/* That of the memory beside which it is used: kernels and streams there reach it, too, whoever made that context. */
static int context_of_user(const struct shmemi_cuda_ticket *ticket, const struct shmemi_place *user,
                           struct shmemi_gpu_context **context_p)
{
    *context_p = user->object;
    return check_peer_access(*context_p, &ticket->device);
}

static int context_on_owners_device(const struct shmemi_cuda_ticket *ticket, struct shmemi_gpu_context **context_p,
                                    char *reason, size_t reason_size)
{
    CUdevice device;
    int ordinal;
    if (!find_device(&ticket->device, &ordinal, &device)) {
        snprintf(reason, reason_size, "another PE's GPU is hidden from this one: let CUDA_VISIBLE_DEVICES show it");
        return -ENOTSUP;
    }
    if (shmemi_gpu_runs_beside() && shmemi_gpu_device_is_used(ordinal)) { /* kernels that wait have hung there */
        snprintf(reason, reason_size, "under MPS a PE has no second context on a GPU that it uses");
        return -ENOTSUP;
    }
    int rc = shmemi_gpu_context_shadow(ordinal, context_p);
    if (rc)
        snprintf(reason, reason_size,
                 "this PE cannot make a context on another PE's GPU: is its memory full, or its "
                 "compute mode exclusive?");
    return rc ? -ENOTSUP : 0;
}

/* Load kernels and make buffers now, not at the first copy: the driver waits for all streams of a context when it loads
 * a kernel there, and a stream of the program may then be waiting for this very copy. The program may be using the
 * shadow context, too. */
static void prepare_shadow(const struct shmemi_place *place)
{
    bool pushed;
    struct shmemi_gpu_context *context = place->object;
    if (shmemi_gpu_enter(context, &pushed))
        return;
    shmemi_gpu_kernels_load(context);
    shmemi_gpu_relay_prepare(context);
    shmemi_gpu_leave(pushed);
    struct shmemi_list *list = shmemi_kernel_list_take(place);
    if (list)
        shmemi_kernel_list_give(list);
}

static int import_handle(const struct shmemi_memory_handle *handle, const struct shmemi_descriptors *descriptors,
                         const struct shmemi_place *user, struct shmemi_place *place_p, char *reason,
                         size_t reason_size)
{
    struct shmemi_gpu_context *context;
    struct shmemi_cuda_ticket ticket;
    CUdeviceptr mapped;
    memcpy(&ticket, handle->opaque, sizeof ticket);
    if (!way_of(ticket.class) || handle->offset >= handle->size)
        return -ENOTSUP;
    int rc = shmemi_cuda_start();
    if (!rc)
        rc = user ? context_of_user(&ticket, user, &context)
                  : context_on_owners_device(&ticket, &context, reason, reason_size);
    if (rc)
        return rc;
    pthread_mutex_lock(&imports_lock);
    rc = acquire(handle, &ticket, descriptors, context, &mapped, reason, reason_size);
    pthread_mutex_unlock(&imports_lock);
    if (!rc)
        *place_p = (struct shmemi_place){
            .memory = &shmemi_memory_cuda,
            .object = context,
            .address = mapped + handle->offset,
        };
    if (!rc && context->is_shadow)
        prepare_shadow(place_p);
    return rc;
}

static void release_handle(const struct shmemi_memory_handle *handle, const struct shmemi_place *place)
{
    struct shmemi_cuda_ticket ticket;
    memcpy(&ticket, handle->opaque, sizeof ticket);
    shmemi_gpu_contexts_check();
    pthread_mutex_lock(&imports_lock);
    struct shmemi_cuda_import *import = imports;
    /* found by its buffer id, or by its address if it has none */
    while (import && !is_same(import, handle, &ticket, place->object) &&
           (handle->buffer_id || import->context != place->object || import->mapped + handle->offset != place->address))
        import = import->next;
    if (import) {
        import->users--;
        remove_unused(import);
    }
    pthread_mutex_unlock(&imports_lock);
}

void shmemi_cuda_ipc_close(void)
{
    pthread_mutex_lock(&imports_lock);
    while (imports) {
        imports->users = 0;
        remove_unused(imports);
    }
    pthread_mutex_unlock(&imports_lock);
}

const struct shmemi_sharing shmemi_cuda_sharing = {
    .export_handle = export_handle,
    .import_handle = import_handle,
    .release_handle = release_handle,
};
