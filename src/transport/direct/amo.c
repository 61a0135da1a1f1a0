/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations on GPU memory that this process has an address for. All PEs use the same agent for a word. Where
 * kernels of this library run on the owner's GPU and kernels of this PE can access the memory, that is the GPU's atomic
 * unit. Otherwise it is the owner, who uses that unit too or, without kernels, loads, modifies and stores for all.
 */
#include "transport/direct/direct.h"

#include "transport/direct/list.h"
#include "bootstrap/job.h"
#include "transport/staged/owner.h"
#include "transport/staged/staged.h"

static int amo_on_own(const struct shmemi_view *view, size_t offset, const struct shmemi_amo *amo, void *fetch_p)
{
    struct shmemi_place word = shmemi_view_place(view, offset);
    return shmemi_owner_amo(&word, amo, fetch_p);
}

int shmemi_direct_amo(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                      const struct shmemi_amo *amo, void *fetch_p)
{
    if (view->by_agent) {
        struct shmemi_place word = shmemi_view_place(view, offset);
        return fetch_p ? shmemi_direct_list_amo_now(context, &word, amo, fetch_p)
                       : shmemi_direct_list_amo(context, &word, amo, NULL);
    }
    if (view->pe == shmemi_job.pe)
        return amo_on_own(view, offset, amo, fetch_p);
    return shmemi_staged_amo(context, view, offset, amo, fetch_p);
}

int shmemi_direct_amo_nbi(struct shmemi_context *context, const struct shmemi_view *view, size_t offset,
                          const struct shmemi_amo *amo, void *fetch_p)
{
    if (view->by_agent) {
        struct shmemi_place word = shmemi_view_place(view, offset);
        return shmemi_direct_list_amo(context, &word, amo, fetch_p);
    }
    if (view->pe == shmemi_job.pe)
        return amo_on_own(view, offset, amo, fetch_p);
    return shmemi_staged_amo_nbi(context, view, offset, amo, fetch_p);
}
