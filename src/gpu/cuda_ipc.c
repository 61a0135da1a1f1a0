/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA memory of another process of the node, opened by its IPC handle.
 *
 * A process may open a handle once, however many mapped objects lie in the allocation, so opened allocations are kept
 * in a list and count their users. The handle carries the UUID of the owner's device: ordinals differ between
 * processes that see different devices (CUDA_VISIBLE_DEVICES). It also carries a number of the owning process, which
 * tells two processes that have allocations at the same address apart, without relying on process ids, which
 * containers repeat.
 */
#include "gpu/cuda_context.h"

#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* What shmemi_memory_handle.opaque holds. */
struct ticket {
    CUipcMemHandle ipc;
    CUuuid device;
    uint64_t owner; /* number of the process */
};
_Static_assert(sizeof(struct ticket) <= sizeof(((struct shmemi_memory_handle *)0)->opaque), "handle is too small");

/* An allocation of another process, open in this one. */
struct import {
    struct ticket ticket;
    uint64_t base, size, buffer_id; /* as the owner says */
    struct shmemi_cuda_context *context;
    CUdeviceptr mapped; /* where base is here; 0 when it was closed because its owner has freed it */
    unsigned users;
    struct import *next;
};

static pthread_mutex_t imports_lock = PTHREAD_MUTEX_INITIALIZER;
static struct import *imports;

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

/* Why other PEs take a slower route: a warning once, then only when debugging. */
static void tell_slower_route(const char *what, int device, CUresult result)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    enum shmemi_log_level level = atomic_flag_test_and_set(&told) ? SHMEMI_LOG_DEBUG : SHMEMI_LOG_WARN;
    shmemi_log(level, "%s (CUDA device %d): %s; transfers go through host memory", what, device,
               shmemi_cuda_error_text(result));
}

int shmemi_cuda_export(const struct shmemi_allocation *allocation, struct shmemi_memory_handle *handle_p)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct shmemi_cuda_context *context = allocation->place.object;
    struct ticket ticket = {0};
    bool pushed;
    if (!allocation->exportable)
        return -ENOTSUP;
    pthread_once(&once, make_owner_number);
    ticket.owner = owner_number;
    int rc = CUDA_CALL(cuDeviceGetUuid, &ticket.device, context->handle);
    if (!rc)
        rc = shmemi_cuda_enter(context, &pushed);
    if (rc)
        return rc;
    CUresult result = shmemi_cuda.cuIpcGetMemHandle(&ticket.ipc, allocation->base);
    shmemi_cuda_leave(pushed);
    if (result != CUDA_SUCCESS) {
        tell_slower_route("mapped GPU memory cannot be shared with other processes", context->device, result);
        return -ENOTSUP;
    }
    *handle_p = (struct shmemi_memory_handle){
        .buffer_id = allocation->buffer_id,
        .base = allocation->base,
        .size = allocation->size,
        .offset = allocation->place.address - allocation->base,
        .device = context->device,
        .type = SHMEMI_MEMTYPE_CUDA,
    };
    memcpy(handle_p->opaque, &ticket, sizeof ticket);
    return 0;
}

/* ---- The other processes' side ----------------------------------------------------------------------------------- */

/* This process's device with the UUID; false when it sees none. */
static bool find_device(const CUuuid *uuid, CUdevice *device_p)
{
    int count = 0;
    shmemi_cuda.cuDeviceGetCount(&count);
    for (int i = 0; i < count; i++) {
        CUdevice device;
        CUuuid candidate;
        if (shmemi_cuda.cuDeviceGet(&device, i) || shmemi_cuda.cuDeviceGetUuid(&candidate, device))
            continue;
        if (!memcmp(&candidate, uuid, sizeof candidate)) {
            *device_p = device;
            return true;
        }
    }
    return false;
}

/* A device that this process does not see cannot be asked about; opening the handle tells then. */
static int check_peer_access(const struct shmemi_cuda_context *context, const CUuuid *owner)
{
    CUdevice device;
    int can_access = 0;
    if (!find_device(owner, &device) || device == context->handle)
        return 0;
    int rc = CUDA_CALL(cuDeviceCanAccessPeer, &can_access, context->handle, device);
    if (rc)
        return rc;
    if (!can_access)
        shmemi_info("CUDA devices %d and %d have no access to each other's memory; transfers go through host memory",
                    context->device, (int)device);
    return can_access ? 0 : -ENOTSUP;
}

/* A process never gives the same buffer id to two allocations. */
static bool is_same(const struct import *import, const struct shmemi_memory_handle *handle,
                    const struct shmemi_cuda_context *context)
{
    struct ticket ticket;
    memcpy(&ticket, handle->opaque, sizeof ticket);
    return import->context == context && import->ticket.owner == ticket.owner && import->base == handle->base &&
           import->buffer_id == handle->buffer_id;
}

static struct import **look_up(const struct shmemi_memory_handle *handle, const struct shmemi_cuda_context *context)
{
    struct import **link = &imports;
    while (*link && !is_same(*link, handle, context))
        link = &(*link)->next;
    return link;
}

static void unmap(struct import *import)
{
    bool pushed;
    if (!import->mapped || shmemi_cuda_enter(import->context, &pushed))
        return;
    CUresult result = shmemi_cuda.cuIpcCloseMemHandle(import->mapped);
    if (result != CUDA_SUCCESS)
        shmemi_debug("cuIpcCloseMemHandle: %s", shmemi_cuda_error_text(result));
    shmemi_cuda_leave(pushed);
    import->mapped = 0;
}

/* The owner has allocated anew where an allocation was that we still have open: that one is gone, and the driver
 * would take the two for one. */
static void unmap_stale(const struct import *fresh)
{
    for (struct import *import = imports; import; import = import->next) {
        bool overlaps = import->base < fresh->base + fresh->size && fresh->base < import->base + import->size;
        if (overlaps && import->ticket.owner == fresh->ticket.owner && import->buffer_id != fresh->buffer_id)
            unmap(import);
    }
}

static int map(struct import *import)
{
    bool pushed;
    int rc = check_peer_access(import->context, &import->ticket.device);
    if (rc)
        return rc;
    unmap_stale(import);
    rc = shmemi_cuda_enter(import->context, &pushed);
    if (rc)
        return rc;
    CUresult result = shmemi_cuda.cuIpcOpenMemHandle(&import->mapped, import->ticket.ipc,
                                                     CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    shmemi_cuda_leave(pushed);
    if (result == CUDA_SUCCESS)
        return 0;
    import->mapped = 0;
    tell_slower_route("another PE's GPU memory cannot be opened", import->context->device, result);
    return -ENOTSUP;
}

static struct import *create(const struct shmemi_memory_handle *handle, struct shmemi_cuda_context *context)
{
    struct import *import = calloc(1, sizeof *import);
    if (!import) {
        shmemi_error("out of memory for an imported CUDA allocation");
        return NULL;
    }
    memcpy(&import->ticket, handle->opaque, sizeof import->ticket);
    import->base = handle->base;
    import->size = handle->size;
    import->buffer_id = handle->buffer_id;
    import->context = context;
    return import;
}

static void remove_unused(struct import **link)
{
    struct import *import = *link;
    if (import->users)
        return;
    *link = import->next;
    unmap(import);
    free(import);
}

/* Take a use of the allocation, opening it if need be. Called with the lock held. */
static int acquire(const struct shmemi_memory_handle *handle, struct shmemi_cuda_context *context,
                   CUdeviceptr *mapped_p)
{
    struct import **link = look_up(handle, context);
    if (!*link)
        *link = create(handle, context);
    if (!*link)
        return -ENOMEM;
    int rc = (*link)->mapped ? 0 : map(*link);
    if (rc) {
        remove_unused(link);
        return rc;
    }
    (*link)->users++;
    *mapped_p = (*link)->mapped;
    return 0;
}

int shmemi_cuda_import(const struct shmemi_memory_handle *handle, int my_device, struct shmemi_place *place_p)
{
    struct shmemi_cuda_context *context;
    CUdeviceptr mapped;
    int rc = shmemi_cuda_start();
    if (!rc)
        rc = shmemi_cuda_context_find(NULL, my_device < 0 ? 0 : my_device, &context);
    if (rc)
        return rc;
    pthread_mutex_lock(&imports_lock);
    rc = acquire(handle, context, &mapped);
    pthread_mutex_unlock(&imports_lock);
    if (!rc)
        *place_p = (struct shmemi_place){
            .memory = &shmemi_memory_cuda,
            .object = context,
            .address = mapped + handle->offset,
        };
    return rc;
}

void shmemi_cuda_release(const struct shmemi_memory_handle *handle, const struct shmemi_place *place)
{
    shmemi_cuda_contexts_check();
    pthread_mutex_lock(&imports_lock);
    struct import **link = look_up(handle, place->object);
    if (*link) {
        (*link)->users--;
        remove_unused(link);
    }
    pthread_mutex_unlock(&imports_lock);
}

void shmemi_cuda_ipc_close(void)
{
    pthread_mutex_lock(&imports_lock);
    while (imports) {
        struct import *import = imports;
        imports = import->next;
        unmap(import);
        free(import);
    }
    pthread_mutex_unlock(&imports_lock);
}
