/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Page-locks host memory for a GPU's driver. The ranges that the library has registered are remembered, since those that
 * the program has registered itself must stay registered.
 */
#include "base/log.h"
#include "gpu/device/page_locks.h"

#include <errno.h>
#include <stdlib.h>

struct pinned {
    void *address;
    size_t size;
    struct pinned *next;
};

static pthread_mutex_t pinned_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pinned *pinned;

/* Called with any context current: portable memory is page-locked for all. */
static int register_range(void *address, size_t size)
{
    static atomic_flag warned = ATOMIC_FLAG_INIT;
    if (shmemi_gpu.is_locked_range(address, size))
        return 0;
    struct pinned *range = malloc(sizeof *range);
    if (!range)
        return -ENOMEM;
    int result = shmemi_gpu.host_register(address, size, SHMEMI_GPU_HOST_PORTABLE);
    if (!result) {
        *range = (struct pinned){.address = address, .size = size, .next = pinned};
        pinned = range;
        return 0;
    }
    free(range);
    if (shmemi_gpu.errno_of(result) == -EALREADY)
        return 0;
    if (!atomic_flag_test_and_set(&warned))
        shmemi_warn("%zu bytes of host memory cannot be page-locked for %s: %s; copies to and from the GPU are slower"
                    " (ulimit -l limits it)",
                    size, shmemi_gpu.memory->title, shmemi_gpu.error_text(result));
    return shmemi_gpu.errno_of(result);
}

/* Enter any context: one in which the library copies, or else the thread's current one. None is created for this. */
static int enter_any(bool *pushed_p)
{
    const struct shmemi_gpu_context *context = shmemi_gpu_context_any();
    void *current = NULL;
    *pushed_p = false;
    if (context)
        return shmemi_gpu_enter(context, pushed_p);
    if (shmemi_gpu.is_over)
        return -ENODEV;
    return !shmemi_gpu.context_current(&current) && current ? 0 : -ENODEV;
}

int shmemi_gpu_pin(void *address, size_t size)
{
    bool pushed;
    int rc = enter_any(&pushed);
    if (rc)
        return rc;
    const int mode = shmemi_gpu_relax();
    pthread_mutex_lock(&pinned_lock);
    rc = register_range(address, size);
    pthread_mutex_unlock(&pinned_lock);
    shmemi_gpu_restore(mode);
    shmemi_gpu_leave(pushed);
    return rc;
}

void shmemi_gpu_pinned_renew(void)
{
    bool pushed;
    if (enter_any(&pushed))
        return;
    pthread_mutex_lock(&pinned_lock);
    for (const struct pinned *range = pinned; range; range = range->next)
        if (!shmemi_gpu.is_locked_range(range->address, range->size))
            (void)GPU_CALL(host_register, range->address, range->size, SHMEMI_GPU_HOST_PORTABLE);
    pthread_mutex_unlock(&pinned_lock);
    shmemi_gpu_leave(pushed);
}

static void unregister_range(struct pinned **link)
{
    bool pushed;
    struct pinned *range = *link;
    *link = range->next;
    if (!enter_any(&pushed)) {
        int result = shmemi_gpu.host_unregister(range->address);
        if (result)
            shmemi_debug("page-lock of host memory: %s", shmemi_gpu.error_text(result));
        shmemi_gpu_leave(pushed);
    }
    free(range);
}

static void unpin(void *address, size_t size)
{
    (void)size;
    pthread_mutex_lock(&pinned_lock);
    struct pinned **link = &pinned;
    while (*link && (*link)->address != address)
        link = &(*link)->next;
    if (*link)
        unregister_range(link);
    pthread_mutex_unlock(&pinned_lock);
}

void shmemi_gpu_pinned_close(void)
{
    pthread_mutex_lock(&pinned_lock);
    while (pinned)
        unregister_range(&pinned);
    pthread_mutex_unlock(&pinned_lock);
}

static bool is_pinned(const void *address, size_t size)
{
    return shmemi_gpu.is_locked_range(address, size);
}

static bool helps(const struct shmemi_place *place)
{
    (void)place;
    return true;
}

const struct shmemi_pinning shmemi_gpu_pinning = {
    .pin = shmemi_gpu_pin,
    .unpin = unpin,
    .is_pinned = is_pinned,
    .helps = helps,
};
