/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Views for kernels (shmemx_device.h). Threads of the CPU that play a kernel are compiled with the hooks, and reach other
 * PEs' memory by loads, stores and atomic operations: these are told of where that memory lies. What kernels of a GPU do, and
 * what the library's agent does for threads, is not seen.
 */
#include "race/calls/wrapped_call.h"
#include "race/hooks/sync_objects.h"

#include <shmemx_device.h>

#include <dlfcn.h>

static bool uses_cuda(void)
{
    void *context = NULL, *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int (*current)(void **) = library ? (int (*)(void **))dlsym(library, "cuCtxGetCurrent") : NULL;
    return current && !current(&context) && context;
}

/* Whether threads do everything themselves in that PE's copy. */
static bool is_near(const shmemx_device_view_t *view, int pe)
{
    const int i = pe - view->first_pe;
    const unsigned long long all = SHMEMI_DEVICE_STORES | SHMEMI_DEVICE_ATOMICS;
    return i >= 0 && i < view->n_peers && (view->peers[i].can & all) == all;
}

static void note_view(const shmemx_device_view_t *view)
{
    if (uses_cuda()) {
        race_give_up("kernels communicate (shmemx_device_view), which is not seen");
        return;
    }
    for (int pe = 0; pe < view->n_pes; pe++)
        if (is_near(view, pe))
            race_add_peer((uintptr_t)view->own + (uintptr_t)view->peers[pe - view->first_pe].distance,
                          (uintptr_t)view->own, pe);
        else
            race_give_up("threads that play kernels reach other PEs by a thread of the library, which is not seen");
}

RACE_WRAPPER int shmemx_device_view(const void *symmetric, shmemx_device_view_t *view)
{
    static __typeof__(&shmemx_device_view) next;
    next = next ? next : (__typeof__(next))race_next("shmemx_device_view");
    const int rc = next(symmetric, view);
    if (!rc && race_this_thread())
        note_view(view);
    return rc;
}

RACE_WRAPPER int shmemx_device_team_view(shmem_team_t team, void *work, size_t nbytes, shmemx_device_team_t *view)
{
    static __typeof__(&shmemx_device_team_view) next;
    next = next ? next : (__typeof__(next))race_next("shmemx_device_team_view");
    const int rc = next(team, work, nbytes, view);
    if (!rc && race_this_thread())
        note_view(&view->work);
    return rc;
}
