/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Unmap, release and update. Mappings record what was mapped, so no walk is needed.
 */
#include "base/log.h"
#include "deep/space/technique.h"

#include <errno.h>

/* The work of a call. Its lists are in the space's scratch memory. */
struct task {
    struct shmemi_space *space;
    struct shmemi_mapping *mapping;
    struct shmemi_part *parts; /* live parts of the mapping */
    size_t n_parts;
    struct shmemi_space_copy **ending;
    size_t n_ending;
    struct shmemi_part *brought_back; /* parts to copy back to the host */
    size_t n_brought_back;
};

static int refuse_unknown(const char *routine, uintptr_t source)
{
    shmemi_error("%s: %p is not mapped in this space", routine, (void *)source);
    return -ENOENT;
}

static int open_task(struct task *task, const char *routine, struct shmemi_space *space, uintptr_t source)
{
    *task = (struct task){.space = space, .mapping = shmemi_mapping_find(space, source)};
    space->call++;
    if (!task->mapping)
        return refuse_unknown(routine, source);
    size_t n = shmemi_mapping_parts_max(task->mapping) + 1;
    char *memory = shmemi_space_scratch(space, n * (3 * sizeof *task->parts + sizeof(struct shmemi_space_copy *)));
    if (!memory) {
        shmemi_error("%s: no host memory", routine);
        return -ENOMEM;
    }
    task->parts = (struct shmemi_part *)memory;
    task->brought_back = task->parts + n;
    task->ending = (struct shmemi_space_copy **)(task->brought_back + 2 * n);
    task->n_parts = shmemi_mapping_parts(task->mapping, task->parts);
    return 0;
}

/* ---- What ends --------------------------------------------------------------------------------------------------- */

static bool ends_with_mapping(const struct task *task, const struct shmemi_space_copy *copy)
{
    switch (task->space->lifetime) {
    case SHMEMX_DEEP_COUNTED:
        return copy->n_mappings == 1;
    case SHMEMX_DEEP_STRUCTURED:
        return copy->set == task->mapping->made;
    default:
        return false;
    }
}

/* Choose the copies to end and the parts to copy back. Several parts may belong to one copy, which is ended once and
 * then copied back as a whole; of other copies, if brings_all, the parts that the mapping reached are copied back. */
static void choose(struct task *task, bool ends_all, bool brings_ending, bool brings_all)
{
    for (size_t i = 0; i < task->n_parts; i++) {
        struct shmemi_space_copy *copy = task->parts[i].copy;
        bool ends = ends_all || ends_with_mapping(task, copy);
        bool is_first = copy->seen != task->space->call;
        copy->seen = task->space->call;
        if (ends && is_first)
            task->ending[task->n_ending++] = copy;
        if (ends && is_first && brings_ending)
            task->brought_back[task->n_brought_back++] = (struct shmemi_part){copy, 0, copy->size};
        if (!ends && brings_all)
            task->brought_back[task->n_brought_back++] = task->parts[i];
    }
}

static int bring_back(const struct task *task)
{
    return task->n_brought_back ? task->space->technique->receive(task->space, task->brought_back, task->n_brought_back)
                                : 0;
}

static void discount(const struct task *task)
{
    task->space->call++;
    for (size_t i = 0; i < task->n_parts; i++) {
        struct shmemi_space_copy *copy = task->parts[i].copy;
        if (copy->seen != task->space->call)
            copy->n_mappings--;
        copy->seen = task->space->call;
    }
}

static int end_mapping(const struct task *task)
{
    discount(task);
    shmemi_copies_end(task->space, task->ending, task->n_ending);
    return shmemi_mapping_remove(task->space, task->mapping);
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

static int check_nesting(const struct task *task)
{
    const struct shmemi_space *space = task->space;
    const struct shmemi_mapping *newest = space->mappings[space->n_mappings - 1];
    if (space->lifetime != SHMEMX_DEEP_STRUCTURED || task->mapping == newest)
        return 0;
    shmemi_error("shmemx_deep_unmap: %p was mapped before %p, which has to be unmapped first: the space is structured",
                 (void *)task->mapping->root.address, (void *)newest->root.address);
    return -EBUSY;
}

static int unmap(struct task *task, int flags)
{
    int all = SHMEMX_DEEP_FROM | SHMEMX_DEEP_ALWAYS;
    int rc = check_nesting(task);
    if (rc)
        return rc;
    choose(task, false, flags & SHMEMX_DEEP_FROM, (flags & all) == all);
    rc = bring_back(task);
    return rc || task->space->lifetime == SHMEMX_DEEP_EXPLICIT ? rc : end_mapping(task);
}

int shmemi_space_unmap(struct shmemi_space *space, uintptr_t source, int flags)
{
    struct task task;
    int rc = open_task(&task, "shmemx_deep_unmap", space, source);
    return rc ? rc : unmap(&task, flags);
}

int shmemi_space_update(struct shmemi_space *space, uintptr_t source, int flags)
{
    struct task task;
    int rc = open_task(&task, "shmemx_deep_update", space, source);
    if (!rc && !task.n_parts && task.mapping->device)
        rc = refuse_unknown("shmemx_deep_update", source); /* released through another mapping */
    if (!rc && task.n_parts)
        rc = flags & SHMEMX_DEEP_TO ? space->technique->send(space, task.parts, task.n_parts)
                                    : space->technique->receive(space, task.parts, task.n_parts);
    return rc;
}

static int release(struct task *task, int flags)
{
    choose(task, true, flags & SHMEMX_DEEP_FROM, false);
    int rc = bring_back(task);
    return rc ? rc : end_mapping(task);
}

/* Ends all mappings of the source. */
int shmemi_space_release(struct shmemi_space *space, uintptr_t source, int flags)
{
    int rc;
    do {
        struct task task;
        rc = open_task(&task, "shmemx_deep_release", space, source);
        rc = rc ? rc : release(&task, flags);
    } while (!rc && shmemi_mapping_find(space, source));
    return rc;
}
