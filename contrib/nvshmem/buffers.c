/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Symmetric memory beside the first slab: buffers of the program that it has registered, and further slabs.
 */
#include "library.h"

#include "driver.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BUFFERS = 4096 };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER; /* of the two below */
static struct nvs_object *buffers;                         /* sorted by address */
static unsigned n_buffers;

static shmemx_device_view_t *views; /* a copy for units */

/* How many begin at the address or before. */
static unsigned rank_of(uintptr_t address)
{
    unsigned low = 0, high = n_buffers;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (buffers[middle].own <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void *nvs_registered_symmetric(const void *address)
{
    pthread_rwlock_rdlock(&lock);
    const unsigned rank = rank_of((uintptr_t)address);
    const struct nvs_object *buffer = rank ? &buffers[rank - 1] : NULL;
    const size_t offset = buffer ? (uintptr_t)address - buffer->own : 0;
    void *mapped = buffer && offset < buffer->size ? buffer->mapped + offset : (void *)address;
    pthread_rwlock_unlock(&lock);
    return mapped;
}

void nvs_object_insert(const struct nvs_object *object)
{
    pthread_rwlock_wrlock(&lock);
    const unsigned at = rank_of(object->own);
    memmove(buffers + at + 1, buffers + at, (n_buffers - at) * sizeof *buffers);
    buffers[at] = *object;
    n_buffers++;
    pthread_rwlock_unlock(&lock);
}

static void take_out(unsigned at)
{
    pthread_rwlock_wrlock(&lock);
    n_buffers--;
    memmove(buffers + at, buffers + at + 1, (n_buffers - at) * sizeof *buffers);
    pthread_rwlock_unlock(&lock);
}

void nvs_object_take_out(uintptr_t own)
{
    take_out(rank_of(own) - 1);
}

bool nvs_objects_have_room(void)
{
    if (!buffers)
        buffers = calloc(MOST_BUFFERS, sizeof *buffers);
    if (!views)
        views = calloc(MOST_BUFFERS, sizeof *views);
    return buffers && views && n_buffers < MOST_BUFFERS;
}

int nvs_objects_views(const shmemx_device_view_t **views_p, unsigned *n)
{
    int rc = 0;
    for (unsigned i = 0; i < n_buffers && !rc; i++) {
        if (!buffers[i].view.size)
            rc = shmemx_device_view(buffers[i].mapped, &buffers[i].view);
        views[i] = buffers[i].view;
    }
    *views_p = views;
    *n = n_buffers;
    return rc;
}

void nvs_objects_close(void)
{
    while (n_buffers) {
        void *mapped = buffers[n_buffers - 1].mapped;
        take_out(n_buffers - 1);
        shmumap(mapped);
    }
    free(buffers);
    free(views);
    buffers = NULL;
    views = NULL;
}

static int refuse(int status, const char *routine, const char *cause, const void *buffer)
{
    shmemi_error("%s: %s: %p", routine, cause, buffer);
    return status;
}

/* Where the program cannot go on alone, the others are told: shmmap refuses on all of them. */
NVS_EXPORT void *nvshmemx_buffer_register_symmetric(void *buf_ptr, size_t size, int flags)
{
    static const char routine[] = "nvshmemx_buffer_register_symmetric";
    nvs_enter(routine);
    const bool is_right = buf_ptr && size && !flags && nvs_has_cuda() && nvs_objects_have_room();
    if (!is_right)
        (void)refuse(0, routine,
                     !nvs_has_cuda() ? "there is no CUDA here"
                     : flags         ? "flags must be 0"
                                     : "no buffer, or too many of them",
                     buf_ptr);
    struct nvs_object object = {.own = (uintptr_t)buf_ptr, .size = size};
    object.mapped = is_right ? shmmap(buf_ptr, size, OSHM_MEMTYPE_CUDA) : shmmap(NULL, 0, 0);
    if (!object.mapped) {
        if (is_right)
            (void)refuse(0, routine, shmemx_strerror(), buf_ptr);
        return NULL;
    }
    nvs_object_insert(&object);
    nvs_units_refresh();
    return buf_ptr;
}

NVS_EXPORT int nvshmemx_buffer_unregister_symmetric(void *buf_ptr, size_t size)
{
    static const char routine[] = "nvshmemx_buffer_unregister_symmetric";
    nvs_enter(routine);
    const unsigned rank = rank_of((uintptr_t)buf_ptr);
    if (!rank || buffers[rank - 1].own != (uintptr_t)buf_ptr || buffers[rank - 1].size != size)
        return refuse(NVSHMEMX_ERROR_INVALID_VALUE, routine, "not a registered buffer of this size", buf_ptr);
    void *mapped = buffers[rank - 1].mapped;
    take_out(rank - 1);
    nvs_units_refresh();
    shmumap(mapped);
    return NVSHMEMX_SUCCESS;
}

/* ---- The local side of transfers ----------------------------------------------------------------------------------- */

/* What is on the host is page-locked. The library refuses memory that needs no preparation, which is no error here. */
struct local_buffer {
    void *address;
    struct local_buffer *next;
};

static pthread_mutex_t local_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct local_buffer *local_buffers;

static bool is_on_gpu(void *address)
{
    unsigned kind = 0;
    return nvs_has_context() && nvs_driver.pointer_attribute &&
           !nvs_driver.pointer_attribute(&kind, NVS_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)address) &&
           kind == NVS_MEMORY_OF_DEVICE;
}

NVS_EXPORT int nvshmemx_buffer_register(void *addr, size_t length)
{
    static const char routine[] = "nvshmemx_buffer_register";
    nvs_enter(routine);
    if (!addr || !length)
        return refuse(NVSHMEMX_ERROR_INVALID_VALUE, routine, "no buffer", addr);
    if (is_on_gpu(addr))
        return NVSHMEMX_SUCCESS;
    struct local_buffer *buffer = malloc(sizeof *buffer);
    if (!buffer || shmemx_prepare(addr, length)) { /* which has said why */
        free(buffer);
        return buffer ? NVSHMEMX_ERROR_INVALID_VALUE : NVSHMEMX_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&local_mutex);
    *buffer = (struct local_buffer){addr, local_buffers};
    local_buffers = buffer;
    pthread_mutex_unlock(&local_mutex);
    return NVSHMEMX_SUCCESS;
}

/* Take out the first that has the address; any, if it is NULL. */
static struct local_buffer *take_local(const void *address)
{
    pthread_mutex_lock(&local_mutex);
    struct local_buffer **link = &local_buffers;
    while (*link && address && (*link)->address != address)
        link = &(*link)->next;
    struct local_buffer *found = *link;
    if (found)
        *link = found->next;
    pthread_mutex_unlock(&local_mutex);
    return found;
}

static int release_local(struct local_buffer *buffer)
{
    const int rc = shmemx_release(buffer->address);
    free(buffer);
    return rc ? NVSHMEMX_ERROR_INTERNAL : NVSHMEMX_SUCCESS;
}

NVS_EXPORT int nvshmemx_buffer_unregister(void *addr)
{
    static const char routine[] = "nvshmemx_buffer_unregister";
    nvs_enter(routine);
    struct local_buffer *buffer = addr ? take_local(addr) : NULL;
    if (buffer)
        return release_local(buffer);
    return is_on_gpu(addr) ? NVSHMEMX_SUCCESS
                           : refuse(NVSHMEMX_ERROR_INVALID_VALUE, routine, "not a registered buffer", addr);
}

NVS_EXPORT void nvshmemx_buffer_unregister_all(void)
{
    struct local_buffer *buffer;
    nvs_enter("nvshmemx_buffer_unregister_all");
    while ((buffer = take_local(NULL)))
        (void)release_local(buffer);
}

/* ---- Addresses for kernels ------------------------------------------------------------------------------------------ */

NVS_EXPORT void *nvshmem_ptr(const void *ptr, int pe)
{
    nvs_enter("nvshmem_ptr");
    return shmem_ptr(nvs_symmetric(ptr), pe);
}

NVS_EXPORT void *nvshmemx_mc_ptr(nvshmem_team_t team, const void *ptr)
{
    (void)team;
    (void)ptr;
    nvs_enter("nvshmemx_mc_ptr");
    return NULL;
}
