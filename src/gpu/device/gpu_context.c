/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Records of GPU contexts.
 *
 * Memory of the runtime (cudaMalloc) belongs to the primary context of its device; a context that the program has made
 * itself gets a record of its own. Memory of a pool or of cuMemMap belongs to no context: the primary context serves
 * it. Primary contexts are retained, so that they outlive the last user of the runtime in this process.
 */
#include "gpu/device/gpu_copies.h"
#include "gpu/device/kernels/kernel_lists.h"
#include "gpu/device/page_locks.h"
#include "gpu/device/streams/program_streams.h"

#include "base/log.h"
#include "base/system/plain.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
struct shmemi_gpu_calls shmemi_gpu;
atomic_bool shmemi_gpu_has_shadows;
static struct shmemi_gpu_context *contexts;

/* ---- Records ----------------------------------------------------------------------------------------------------- */

static struct shmemi_gpu_context *look_up(void *context, int device, bool is_shadow)
{
    struct shmemi_gpu_context *record = contexts;
    while (record && (record->is_gone || record->is_shadow != is_shadow ||
                      (context ? record->context != context : !(record->is_primary && record->device == device))))
        record = record->next;
    return record;
}

/* Put the context into the record, and retain it if it is a primary one. An inactive primary context cannot be the one
 * given, and is not activated just to compare: that would take hundreds of megabytes. */
static int hold(struct shmemi_gpu_context *record, void *context)
{
    unsigned flags;
    int is_active;
    void *primary;
    int rc = GPU_CALL(primary_state, record->handle, &flags, &is_active);
    if (rc)
        return rc;
    record->context = context;
    if (context && !is_active)
        return 0;
    rc = GPU_CALL(primary_retain, &primary, record->handle);
    if (rc)
        return rc;
    record->is_primary = !context || context == primary;
    if (record->is_primary)
        record->context = primary;
    else
        shmemi_gpu.primary_release(record->handle);
    return 0;
}

static int make_witness(struct shmemi_gpu_context *record)
{
    unsigned long long id = 0;
    int rc = GPU_CALL(host_allocate, &record->witness, sizeof(uint64_t), 0);
    if (!rc)
        rc = GPU_CALL(address_id, &id, (uintptr_t)record->witness);
    record->witness_id = id;
    return rc;
}

/* Is it seen (base/system/plain.h) when the driver maps something? It reserves addresses here, which it gets by mmap unless it
 * has some left. */
static bool sees_driver(size_t size)
{
    uintptr_t got;
    shmemi_plain_watch();
    if (shmemi_gpu.addresses_reserve(&got, size, 0, 0, 0))
        return false;
    bool is_seen = shmemi_plain_was_last((const void *)(uintptr_t)got);
    shmemi_gpu.addresses_free(got, size);
    return is_seen;
}

/* Other threads may map memory just then: try again, with more. */
static void check_sight(void)
{
    enum { ATTEMPTS = 8, FIRST_SIZE = 2 << 20 };
    int i = 0;
    while (i < ATTEMPTS && !sees_driver((size_t)FIRST_SIZE << i))
        i++;
    if (i < ATTEMPTS)
        return;
    shmemi_debug("what %s's driver maps is not seen: it is asked about each private pointer", shmemi_gpu.memory->title);
    shmemi_plain_close();
}

static int create_handles(struct shmemi_gpu_context *record)
{
    bool pushed;
    int rc = shmemi_gpu_enter(record, &pushed);
    if (rc)
        return rc;
    rc = make_witness(record);
    while (!rc && record->n_free_events < SHMEMI_GPU_EVENTS) {
        rc = GPU_CALL(event_create, &record->free_event[record->n_free_events], SHMEMI_GPU_EVENT_NO_TIMING);
        record->n_free_events += !rc;
    }
    check_sight();
    shmemi_gpu_leave(pushed);
    return rc;
}

static bool is_there(const struct shmemi_gpu_context *record)
{
    unsigned long long id = 0;
    return !shmemi_gpu.address_id(&id, (uintptr_t)record->witness) && id == record->witness_id;
}

void shmemi_gpu_contexts_check(void)
{
    if (shmemi_gpu.is_over)
        return;
    pthread_mutex_lock(&contexts_lock);
    for (struct shmemi_gpu_context *record = contexts; record; record = record->next)
        if (!record->is_gone && !is_there(record))
            record->is_gone = true;
    pthread_mutex_unlock(&contexts_lock);
}

static void destroy_handles(struct shmemi_gpu_context *record)
{
    shmemi_kernel_lists_close(atomic_load(&record->lists.pool));
    shmemi_gpu_relay_close(record);
    if (record->kernels.module)
        shmemi_gpu.module_unload(record->kernels.module);
    for (unsigned i = 0; i < record->n_free_events; i++)
        shmemi_gpu.event_destroy(record->free_event[i]);
    for (unsigned i = 0; i < SHMEMI_GPU_STREAMS; i++) {
        void *stream = atomic_load(&record->stream[i]);
        if (stream)
            shmemi_gpu.stream_destroy(stream);
    }
    shmemi_gpu_trial_close(&record->trial);
    if (record->witness)
        shmemi_gpu.host_free(record->witness);
}

/* Errors are not logged, since the program may have shut the driver down. */
static void destroy(struct shmemi_gpu_context *record)
{
    bool pushed;
    if (!shmemi_gpu_enter(record, &pushed)) {
        destroy_handles(record);
        shmemi_gpu_leave(pushed);
        if (record->is_primary)
            shmemi_gpu.primary_release(record->handle);
    }
    pthread_mutex_destroy(&record->lock);
    free(record);
}

static int create(void *context, int device, bool is_shadow, struct shmemi_gpu_context **record_p)
{
    struct shmemi_gpu_context *record = calloc(1, sizeof *record);
    if (!record) {
        shmemi_error("out of memory for a record of %s device %d", shmemi_gpu.memory->title, device);
        return -ENOMEM;
    }
    pthread_mutex_init(&record->lock, NULL);
    record->device = device;
    record->is_shadow = is_shadow;
    if (is_shadow)
        atomic_store(&shmemi_gpu_has_shadows, true);
    int rc = GPU_CALL(device_get, &record->handle, device);
    if (!rc)
        rc = hold(record, context);
    if (rc)
        goto err_free;
    rc = create_handles(record);
    if (rc)
        goto err_destroy;
    *record_p = record;
    return 0;

err_free:
    pthread_mutex_destroy(&record->lock);
    free(record);
    return rc;
err_destroy:
    destroy(record);
    return rc;
}

/* With the lock held. */
static bool is_any_gone(void)
{
    const struct shmemi_gpu_context *record = contexts;
    while (record && !record->is_gone)
        record = record->next;
    return record;
}

static int find(void *context, int device, bool is_shadow, struct shmemi_gpu_context **context_p)
{
    int rc = 0;
    bool follows_lost = false;
    pthread_mutex_lock(&contexts_lock);
    struct shmemi_gpu_context *record = look_up(context, device, is_shadow);
    if (!record) {
        rc = create(context, device, is_shadow, &record);
        if (!rc) {
            follows_lost = is_any_gone();
            record->next = contexts;
            contexts = record;
        }
    }
    pthread_mutex_unlock(&contexts_lock);
    if (!rc)
        *context_p = record;
    if (follows_lost)
        shmemi_gpu_pinned_renew();
    return rc;
}

int shmemi_gpu_context_find(void *context, int device, struct shmemi_gpu_context **context_p)
{
    return find(context, device, false, context_p);
}

int shmemi_gpu_context_shadow(int device, struct shmemi_gpu_context **context_p)
{
    return find(NULL, device, true, context_p);
}

int shmemi_gpu_context_at(uintptr_t address, struct shmemi_gpu_context **context_p)
{
    void *context = NULL;
    int device = 0;
    int rc = GPU_CALL(address_owner, address, &context, &device);
    if (rc)
        return rc;
    return shmemi_gpu_context_find(context, device < 0 ? 0 : device, context_p);
}

int shmemi_gpu_contexts_visit(int (*visit)(struct shmemi_gpu_context *))
{
    int rc = 0;
    pthread_mutex_lock(&contexts_lock);
    struct shmemi_gpu_context *record = contexts;
    pthread_mutex_unlock(&contexts_lock);
    for (; record && !rc; record = record->next) /* none is removed before the end */
        if (!record->is_gone)
            rc = visit(record);
    return rc;
}

bool shmemi_gpu_device_is_used(int device)
{
    pthread_mutex_lock(&contexts_lock);
    const struct shmemi_gpu_context *record = contexts;
    while (record && (record->is_gone || record->is_shadow || record->device != device))
        record = record->next;
    pthread_mutex_unlock(&contexts_lock);
    return record;
}

struct shmemi_gpu_context *shmemi_gpu_context_any(void)
{
    pthread_mutex_lock(&contexts_lock);
    struct shmemi_gpu_context *record = contexts;
    while (record && (!record->is_primary || record->is_gone))
        record = record->next;
    if (!record)
        record = contexts;
    pthread_mutex_unlock(&contexts_lock);
    return record;
}

void shmemi_gpu_contexts_close(void)
{
    pthread_mutex_lock(&contexts_lock);
    while (contexts) {
        struct shmemi_gpu_context *record = contexts;
        contexts = record->next;
        destroy(record);
    }
    pthread_mutex_unlock(&contexts_lock);
}
