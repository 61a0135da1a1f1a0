/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mapping: one walk finds all objects that are reached, and those without a copy get one. Steps that can fail come
 * before any change that other calls could see.
 */
#include "base/log.h"
#include "deep/image.h"
#include "deep/space/technique.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char routine[] = "shmemx_deep_map";

struct map_plan {
    struct shmemi_space *space;
    int flags;
    struct shmemi_graph graph;          /* passes to the set if all extents are new */
    struct shmemi_space_copy **holders; /* for each extent the copy that holds it; NULL if all extents are new */
    size_t n_new;
    struct shmemi_mapping *mapping;
};

static int no_memory(void)
{
    shmemi_error("%s: no host memory", routine);
    return -ENOMEM;
}

/* ---- Existing copies --------------------------------------------------------------------------------------------- */

static int refuse_overlap(const struct shmemi_extent *extent, const struct shmemi_space_copy *copy)
{
    shmemi_error("%s: the object of %zu bytes at %p overlaps a part of one of %zu bytes at %p that is mapped, but is "
                 "not inside it; map the larger one first",
                 routine, extent->size, (void *)extent->address, copy->size, (void *)copy->address);
    return -EINVAL;
}

static bool is_inside(const struct shmemi_extent *extent, const struct shmemi_space_copy *copy)
{
    return extent->address >= copy->address && extent->size <= copy->size &&
           extent->address - copy->address <= copy->size - extent->size;
}

static int find_holders(struct map_plan *plan)
{
    const struct shmemi_graph *graph = &plan->graph;
    plan->n_new = graph->n_extents;
    if (!plan->space->n_live || !graph->n_extents)
        return 0;
    plan->holders = malloc(graph->n_extents * sizeof *plan->holders);
    if (!plan->holders)
        return no_memory();
    for (size_t i = 0; i < graph->n_extents; i++) {
        const struct shmemi_extent *extent = &graph->extents[i];
        struct shmemi_space_copy *copy = shmemi_index_find(&plan->space->index, extent->address, extent->size);
        if (copy && !is_inside(extent, copy))
            return refuse_overlap(extent, copy);
        plan->holders[i] = copy;
        plan->n_new -= copy != NULL;
    }
    if (plan->n_new < graph->n_extents)
        return 0;
    free(plan->holders);
    plan->holders = NULL;
    return 0;
}

/* ---- New copies -------------------------------------------------------------------------------------------------- */

static int refuse_size(const struct map_plan *plan, const struct shmemi_copy_set *set, int rc)
{
    const struct shmemi_type *type = plan->mapping->root.type;
    size_t size = set->graph.size - SHMEMX_DEEP_HEADER, free_bytes, largest;
    shmemi_space_memory_state(&plan->space->memory, &free_bytes, &largest);
    if (rc == -ENOSPC)
        shmemi_error("%s: the buffer is full: %zu new objects from type \"%s\" need %zu bytes, %zu are free, %zu of "
                     "them together",
                     routine, set->n_copies, type->name, size, free_bytes, largest);
    else
        shmemi_error("%s: no device memory for %zu new objects from type \"%s\", %zu bytes", routine, set->n_copies,
                     type->name, size);
    return rc;
}

static int make_set(struct map_plan *plan)
{
    struct shmemi_copy_set *set = plan->holders
                                      ? shmemi_copy_set_of_some(plan->space, &plan->graph, plan->holders, plan->n_new)
                                      : shmemi_copy_set_of_all(plan->space, &plan->graph);
    if (!set)
        return no_memory();
    int rc = shmemi_copy_set_place(plan->space, set);
    if (rc) {
        refuse_size(plan, set, rc);
        shmemi_copy_set_free(plan->space, set);
        return rc;
    }
    plan->mapping->made = set;
    size_t next = 0;
    for (size_t i = 0; plan->holders && i < plan->graph.n_extents; i++)
        if (!plan->holders[i])
            plan->holders[i] = &set->copies[next++];
    return 0;
}

/* The device address of the copy of an offset in the walked image. */
static uint64_t translate(const struct map_plan *plan, size_t at)
{
    struct shmemi_copy_set *made = plan->mapping->made;
    if (!plan->holders && made->is_chunk)
        return made->base + at;
    const struct shmemi_graph *graph = plan->holders ? &plan->graph : &made->graph;
    const struct shmemi_extent *extent = shmemi_graph_extent_at(graph, at);
    size_t i = (size_t)(extent - graph->extents);
    const struct shmemi_space_copy *copy = plan->holders ? plan->holders[i] : &made->copies[i];
    return copy->device + (extent->address - copy->address) + (at - extent->at);
}

static void set_links(const struct map_plan *plan)
{
    struct shmemi_copy_set *made = plan->mapping->made;
    bool is_one_image = made && !plan->holders && made->is_chunk;
    for (size_t i = 0; made && i < made->graph.n_links; i++) {
        struct shmemi_graph_link *link = &made->graph.links[i];
        if (link->to < SHMEMI_LINK_OPAQUE)
            link->to = (size_t)(is_one_image ? made->base + link->to : translate(plan, link->to));
    }
}

static int send_new(const struct map_plan *plan)
{
    struct shmemi_space *space = plan->space;
    struct shmemi_copy_set *made = plan->mapping->made;
    if (!made)
        return 0;
    struct shmemi_part *parts = shmemi_space_scratch(space, made->n_copies * sizeof *parts);
    if (!parts)
        return no_memory();
    for (size_t i = 0; i < made->n_copies; i++)
        parts[i] = (struct shmemi_part){&made->copies[i], 0, made->copies[i].size};
    return plan->flags & SHMEMX_DEEP_TO ? space->technique->send(space, parts, made->n_copies)
                                        : space->technique->send_pointers(space, parts, made->n_copies);
}

/* ---- Pointers in existing copies --------------------------------------------------------------------------------- */

/* Count the extents that already have copies, and their pointers that are not null. */
static void count_old(const struct map_plan *plan, size_t *n_parts_p, size_t *n_followed_p)
{
    const struct shmemi_graph *graph = &plan->graph;
    size_t link = 0;
    *n_parts_p = *n_followed_p = 0;
    for (size_t i = 0; plan->holders && i < graph->n_extents; i++) {
        bool is_old = plan->holders[i]->set != plan->mapping->made;
        size_t end = graph->extents[i].at + graph->extents[i].size;
        *n_parts_p += is_old;
        for (; link < graph->n_links && graph->links[link].at < end; link++)
            *n_followed_p += is_old && graph->links[link].to < SHMEMI_LINK_OPAQUE;
    }
}

/* The link at an offset in a copy, added if the copy has none there. SIZE_MAX if there is no memory. */
static size_t find_or_add_link(struct shmemi_space_copy *copy, size_t at)
{
    size_t link = shmemi_copy_find_link(copy, at);
    if (link == SIZE_MAX && !shmemi_copy_add_link(copy, at))
        link = shmemi_copy_find_link(copy, at);
    return link;
}

static int follow(struct map_plan *plan, struct shmemi_transfers *transfers, struct shmemi_space_copy *copy, size_t at,
                  uint64_t value)
{
    struct shmemi_mapping *mapping = plan->mapping;
    struct shmemi_followed *followed = &mapping->followed[mapping->n_followed];
    size_t link = find_or_add_link(copy, at);
    if (link == SIZE_MAX)
        return no_memory();
    *followed = (struct shmemi_followed){copy, at, value};
    mapping->n_followed++;
    if (copy->set->followers[link]++)
        return 0;
    return shmemi_transfers_set_link(transfers, copy, link, &followed->value);
}

/* Set a pointer to null in a copy that has no link for it, if it is not null in the object. */
static int clear(struct shmemi_space *space, struct shmemi_space_copy *copy, size_t at)
{
    static const uint64_t null_link = SHMEMI_LINK_NULL;
    struct shmemi_transfers transfers;
    uintptr_t pointer;
    memcpy(&pointer, (const char *)copy->address + at, sizeof pointer);
    if (!pointer)
        return 0;
    size_t link = find_or_add_link(copy, at);
    if (link == SIZE_MAX)
        return no_memory();
    size_t *to = &copy->set->graph.links[link].to;
    if (*to != SHMEMI_LINK_OPAQUE)
        return 0;
    shmemi_transfers_begin(&transfers, space);
    shmemi_transfers_set_link(&transfers, copy, link, &null_link);
    int rc = shmemi_transfers_end(&transfers);
    if (rc)
        *to = SHMEMI_LINK_OPAQUE;
    return rc;
}

/* Without transfers this handles the links that are null, with transfers the others. */
static int update_links(struct map_plan *plan, struct shmemi_transfers *transfers, size_t i)
{
    const struct shmemi_graph *graph = &plan->graph;
    const struct shmemi_extent *extent = &graph->extents[i];
    struct shmemi_space_copy *copy = plan->holders[i];
    int rc = 0;
    for (size_t k = shmemi_graph_first_link(graph, extent->at); k < graph->n_links && !rc; k++) {
        const struct shmemi_graph_link *link = &graph->links[k];
        if (link->at >= extent->at + extent->size)
            break;
        size_t at = link->at - extent->at + (extent->address - copy->address);
        if (!transfers && link->to == SHMEMI_LINK_NULL)
            rc = clear(plan->space, copy, at);
        if (transfers && link->to < SHMEMI_LINK_OPAQUE)
            rc = follow(plan, transfers, copy, at, translate(plan, link->to));
    }
    return rc;
}

static bool is_old(const struct map_plan *plan, size_t i)
{
    return plan->holders[i]->set != plan->mapping->made;
}

/* In the order of addresses, so that new links of a copy are appended to those that it has. */
static int update_all_links(struct map_plan *plan, struct shmemi_transfers *transfers)
{
    int rc = 0;
    for (size_t k = 0; k < plan->graph.n_extents && !rc; k++) {
        size_t i = plan->graph.by_address[k];
        if (is_old(plan, i))
            rc = update_links(plan, transfers, i);
    }
    return rc;
}

static int follow_all(struct map_plan *plan)
{
    struct shmemi_transfers transfers;
    shmemi_transfers_begin(&transfers, plan->space);
    transfers.waits_at_end = true;
    int rc = update_all_links(plan, &transfers);
    int ended = shmemi_transfers_end(&transfers);
    return rc ? rc : ended;
}

static int update_old(struct map_plan *plan)
{
    struct shmemi_mapping *mapping = plan->mapping;
    size_t n_parts, n_followed;
    count_old(plan, &n_parts, &n_followed);
    if (!n_parts)
        return 0;
    mapping->parts = malloc(n_parts * sizeof *mapping->parts);
    mapping->followed = malloc((n_followed + 1) * sizeof *mapping->followed);
    if (!mapping->parts || !mapping->followed)
        return no_memory();
    for (size_t i = 0; i < plan->graph.n_extents; i++) {
        const struct shmemi_extent *extent = &plan->graph.extents[i];
        struct shmemi_space_copy *copy = plan->holders[i];
        if (is_old(plan, i))
            mapping->parts[mapping->n_parts++] =
                (struct shmemi_part){copy, extent->address - copy->address, extent->size};
    }
    int rc = update_all_links(plan, NULL);
    return rc ? rc : follow_all(plan);
}

/* ---- All together ------------------------------------------------------------------------------------------------ */

static int walk(struct map_plan *plan, const struct shmemi_space_root *root, const char *const *skip)
{
    struct shmemi_field_set skipped = {0};
    struct shmemi_walk_options options = {
        .routine = routine, .space = SHMEMI_LIVE_MEMORY, .header = SHMEMX_DEEP_HEADER};
    int rc = skip && *skip ? shmemi_field_set_open(routine, skip, &skipped) : 0;
    if (rc)
        return rc;
    options.skipped = skip && *skip ? &skipped : NULL;
    rc = shmemi_graph_open(&plan->graph, &options, root->address, root->type, root->nelems);
    if (options.skipped)
        shmemi_field_set_close(&skipped);
    return rc;
}

static int prepare(struct map_plan *plan, const struct shmemi_space_root *root)
{
    size_t root_at = plan->graph.root;
    int rc = find_holders(plan);
    if (rc)
        return rc;
    plan->mapping = shmemi_mapping_open(plan->space, root);
    if (!plan->mapping)
        return no_memory();
    bool is_empty = !plan->graph.n_extents;
    if (plan->n_new)
        rc = make_set(plan);
    if (rc)
        return rc;
    set_links(plan);
    if (!is_empty)
        plan->mapping->device = translate(plan, root_at);
    return shmemi_index_reserve(&plan->space->index, plan->n_new) ? no_memory() : 0;
}

static int send_old(const struct map_plan *plan)
{
    const struct shmemi_mapping *mapping = plan->mapping;
    int always = SHMEMX_DEEP_TO | SHMEMX_DEEP_ALWAYS;
    if ((plan->flags & always) != always || !mapping->n_parts)
        return 0;
    return plan->space->technique->send(plan->space, mapping->parts, mapping->n_parts);
}

static void undo(struct map_plan *plan)
{
    struct shmemi_mapping *mapping = plan->mapping;
    struct shmemi_transfers transfers;
    if (!mapping)
        return;
    shmemi_transfers_begin(&transfers, plan->space);
    for (size_t i = mapping->n_followed; i-- > 0;)
        shmemi_unfollow(&transfers, &mapping->followed[i]);
    shmemi_transfers_end(&transfers);
    for (size_t i = 0; mapping->made && i < mapping->made->n_copies; i++)
        shmemi_copy_set_release(plan->space, &(struct shmemi_space_copy *){&mapping->made->copies[i]}, 1);
    shmemi_copy_set_free(plan->space, mapping->made);
    shmemi_mapping_close(mapping);
}

static void count(struct shmemi_space *space, struct shmemi_space_copy *copy)
{
    if (copy->seen == space->call)
        return;
    copy->seen = space->call;
    copy->n_mappings++;
}

static void commit(struct map_plan *plan)
{
    struct shmemi_space *space = plan->space;
    struct shmemi_copy_set *made = plan->mapping->made;
    for (size_t i = 0; i < plan->mapping->n_parts; i++)
        count(space, plan->mapping->parts[i].copy);
    if (made) {
        made->n_live = made->n_copies;
        space->n_live += made->n_copies;
        shmemi_index_add(&space->index, made->copies, made->n_copies);
    }
    shmemi_mapping_add(space, plan->mapping);
}

static int map_anew(struct shmemi_space *space, const struct shmemi_space_root *root, int flags,
                    const char *const *skip, uint64_t *device_p)
{
    struct map_plan plan = {.space = space, .flags = flags};
    int rc = walk(&plan, root, skip);
    if (rc)
        return rc;
    rc = prepare(&plan, root);
    if (!rc)
        rc = send_new(&plan);
    if (!rc)
        rc = update_old(&plan);
    if (!rc)
        rc = send_old(&plan);
    if (rc) {
        undo(&plan);
    } else {
        plan.mapping->is_selective = skip && *skip;
        *device_p = plan.mapping->device;
        commit(&plan);
    }
    shmemi_graph_close(&plan.graph);
    free(plan.holders);
    return rc;
}

/* ---- The same objects again -------------------------------------------------------------------------------------- */

/* A mapping of the same objects all of whose copies still exist, unless the space counts copies. Pointers have not
 * changed since, so no walk is needed [paper, section 3.2]. */
static struct shmemi_mapping *find_same(const struct shmemi_space *space, const struct shmemi_space_root *root,
                                        const char *const *skip)
{
    struct shmemi_mapping *old = shmemi_mapping_find(space, root->address);
    if (space->lifetime == SHMEMX_DEEP_COUNTED || !old || old->is_selective || (skip && *skip))
        return NULL;
    bool is_same = old->root.type == root->type && old->root.nelems == root->nelems;
    return is_same && shmemi_mapping_is_whole(old) ? old : NULL;
}

/* Add a level to a structured space, without new copies. */
static int nest(struct shmemi_space *space, const struct shmemi_mapping *old)
{
    struct shmemi_mapping *mapping = shmemi_mapping_open(space, &old->root);
    if (!mapping)
        return no_memory();
    mapping->parts = malloc((shmemi_mapping_parts_max(old) + 1) * sizeof *mapping->parts);
    if (!mapping->parts) {
        shmemi_mapping_close(mapping);
        return no_memory();
    }
    mapping->n_parts = shmemi_mapping_parts(old, mapping->parts);
    mapping->device = old->device;
    shmemi_mapping_add(space, mapping);
    return 0;
}

static int send_again(struct shmemi_space *space, const struct shmemi_mapping *old)
{
    struct shmemi_part *parts = shmemi_space_scratch(space, (shmemi_mapping_parts_max(old) + 1) * sizeof *parts);
    if (!parts)
        return no_memory();
    return space->technique->send(space, parts, shmemi_mapping_parts(old, parts));
}

int shmemi_space_map(struct shmemi_space *space, const struct shmemi_space_root *root, int flags,
                     const char *const *skip, uint64_t *device_p)
{
    int always = SHMEMX_DEEP_TO | SHMEMX_DEEP_ALWAYS, rc = 0;
    struct shmemi_mapping *old = find_same(space, root, skip);
    space->call++;
    if (!old)
        return map_anew(space, root, flags, skip, device_p);
    if ((flags & always) == always)
        rc = send_again(space, old);
    if (!rc)
        *device_p = old->device;
    return rc || space->lifetime == SHMEMX_DEEP_EXPLICIT ? rc : nest(space, old);
}
