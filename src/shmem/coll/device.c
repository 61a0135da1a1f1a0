/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combines one member's part of mapped GPU memory in one device kernel, which reads the sources of the other members of
 * the node and writes their dests.
 */
#include "shmem/coll/collectives.h"

#include <errno.h>

bool shmemi_device_place(const struct shmemi_symmetric *memory, size_t at, int world_pe, struct shmemi_place *place_p)
{
    const struct shmemi_view *view = memory->region ? shmemi_region_near_view(memory->region, world_pe) : NULL;
    if (!view || shmemi_view_host(view) || !view->driver->is_direct)
        return false;
    *place_p = view->place;
    place_p->address += memory->offset + at;
    return true;
}

/* A combination of a single source; the element is the largest that divides all addresses and the length. */
int shmemi_copy_by_device(const struct shmemi_place *source, const struct shmemi_place *dest, int n, size_t nbytes)
{
    uintptr_t bits = source->address | nbytes;
    for (int i = 0; i < n; i++)
        bits |= dest[i].address;
    const struct shmemi_op *op = shmemi_op_for_copies(bits);
    const struct shmemi_combination combination = {.op = shmemi_operation_of(op),
                                                   .kind = shmemi_kind_of(op),
                                                   .form = SHMEMI_COMBINE_ALL,
                                                   .size = op->size,
                                                   .nelems = nbytes / op->size,
                                                   .source = source,
                                                   .dest = dest,
                                                   .n_sources = 1,
                                                   .n_dests = n};
    return dest[0].memory->combine ? dest[0].memory->combine(&combination) : -ENOTSUP;
}

static bool find_places(const struct shmemi_device_work *work, const struct shmemi_symmetric *memory, size_t at, int n,
                        struct shmemi_place *places)
{
    for (int i = 0; i < n; i++) {
        int member = work->among->pes[(work->first + i) % n];
        if (!shmemi_device_place(memory, at, shmemi_team_world_pe(work->team, member), &places[i]))
            return false;
    }
    return true;
}

int shmemi_combine_by_device(const struct shmemi_device_work *work, size_t at, size_t nbytes)
{
    struct shmemi_place source[SHMEMI_COMBINE_ARRAYS], dest[SHMEMI_COMBINE_ARRAYS];
    const int n = work->among->n;
    if (n > SHMEMI_COMBINE_ARRAYS || !find_places(work, work->from, at, n, source) ||
        !find_places(work, work->to, at, work->n_targets, dest))
        return -ENOTSUP;
    struct shmemi_combination combination = {
        .op = shmemi_operation_of(work->op),
        .kind = shmemi_kind_of(work->op),
        .form = work->form,
        .size = work->op->size,
        .nelems = nbytes / work->op->size,
        .source = source,
        .dest = dest,
        .n_sources = n,
        .n_dests = work->n_targets,
    };
    return dest[0].memory->combine ? dest[0].memory->combine(&combination) : -ENOTSUP;
}
