/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mappings: each records what a call of map has reached, until it is undone.
 */
#include "deep/space/technique.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

struct shmemi_mapping *shmemi_mapping_open(struct shmemi_space *space, const struct shmemi_space_root *root)
{
    if (space->n_mappings == space->room) {
        size_t room = space->room ? 2 * space->room : 16;
        struct shmemi_mapping **mappings = realloc(space->mappings, room * sizeof *mappings);
        if (!mappings)
            return NULL;
        space->mappings = mappings;
        space->room = room;
    }
    struct shmemi_mapping *mapping = calloc(1, sizeof *mapping);
    if (!mapping)
        return NULL;
    mapping->root = *root;
    shmemi_type_hold(root->type);
    return mapping;
}

void shmemi_mapping_close(struct shmemi_mapping *mapping)
{
    shmemi_type_let_go(mapping->root.type);
    free(mapping->parts);
    free(mapping->followed);
    free(mapping);
}

void shmemi_mapping_add(struct shmemi_space *space, struct shmemi_mapping *mapping)
{
    space->mappings[space->n_mappings++] = mapping;
    if (mapping->made) {
        mapping->made->n_references++;
        DL_APPEND(space->sets, mapping->made);
    }
    for (size_t i = 0; i < mapping->n_parts; i++)
        mapping->parts[i].copy->set->n_references++;
}

struct shmemi_mapping *shmemi_mapping_find(const struct shmemi_space *space, uintptr_t source)
{
    for (size_t i = space->n_mappings; i-- > 0;)
        if (space->mappings[i]->root.address == source)
            return space->mappings[i];
    return NULL;
}

enum { SCRATCH_KEPT = 4 << 20 }; /* memory above this size is not kept for a list below it */

void *shmemi_space_scratch(struct shmemi_space *space, size_t size)
{
    bool is_kept = space->scratch_size >= size && (space->scratch_size <= SCRATCH_KEPT || size > SCRATCH_KEPT);
    if (is_kept && space->scratch)
        return space->scratch;
    free(space->scratch);
    space->scratch = malloc(size);
    space->scratch_size = size;
    return space->scratch;
}

size_t shmemi_mapping_parts_max(const struct shmemi_mapping *mapping)
{
    return (mapping->made ? mapping->made->n_copies : 0) + mapping->n_parts;
}

size_t shmemi_mapping_parts(const struct shmemi_mapping *mapping, struct shmemi_part *parts)
{
    struct shmemi_copy_set *made = mapping->made;
    size_t n_made = made ? made->n_copies : 0, n = 0;
    for (size_t i = 0; i < n_made; i++)
        if (made->copies[i].is_live)
            parts[n++] = (struct shmemi_part){&made->copies[i], 0, made->copies[i].size};
    for (size_t i = 0; i < mapping->n_parts; i++)
        if (mapping->parts[i].copy->is_live)
            parts[n++] = mapping->parts[i];
    return n;
}

bool shmemi_mapping_is_whole(const struct shmemi_mapping *mapping)
{
    if (mapping->made && mapping->made->n_live < mapping->made->n_copies)
        return false;
    for (size_t i = 0; i < mapping->n_parts; i++)
        if (!mapping->parts[i].copy->is_live)
            return false;
    return true;
}

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

void shmemi_copies_end(struct shmemi_space *space, struct shmemi_space_copy *const *copies, size_t n)
{
    shmemi_copy_set_release(space, copies, n);
    for (size_t i = 0; i < n; i++) {
        copies[i]->is_live = false;
        copies[i]->set->n_live--;
    }
    space->n_live -= n;
    shmemi_index_end(&space->index, n);
}

static const uint64_t null_link = SHMEMI_LINK_NULL;

int shmemi_unfollow(struct shmemi_transfers *transfers, const struct shmemi_followed *followed)
{
    struct shmemi_space_copy *copy = followed->copy;
    size_t link = shmemi_copy_find_link(copy, followed->at);
    if (link == SIZE_MAX || !copy->set->followers[link] || --copy->set->followers[link])
        return 0;
    return shmemi_transfers_set_link(transfers, copy, link, &null_link);
}

static void unfollow_made(struct shmemi_transfers *transfers, struct shmemi_space_copy *copy)
{
    for (size_t link = copy->first_link; link < shmemi_copy_end_link(copy); link++) {
        uint32_t *followers = &copy->set->followers[link], before = *followers;
        *followers &= ~SHMEMI_LINK_OF_MAKER;
        if (before && !*followers)
            shmemi_transfers_set_link(transfers, copy, link, &null_link);
    }
}

static int unfollow_all(struct shmemi_space *space, struct shmemi_mapping *mapping)
{
    struct shmemi_copy_set *made = mapping->made;
    struct shmemi_transfers transfers;
    shmemi_transfers_begin(&transfers, space);
    transfers.waits_at_end = true;
    for (size_t i = 0; made && made->n_live && i < made->n_copies; i++)
        if (made->copies[i].is_live)
            unfollow_made(&transfers, &made->copies[i]);
    for (size_t i = 0; i < mapping->n_followed; i++)
        if (mapping->followed[i].copy->is_live)
            shmemi_unfollow(&transfers, &mapping->followed[i]);
    return shmemi_transfers_end(&transfers);
}

static void drop_reference(struct shmemi_space *space, struct shmemi_copy_set *set)
{
    if (--set->n_references || set->n_live)
        return;
    set->next_ended = space->ended;
    space->ended = set;
}

static void free_ended(struct shmemi_space *space)
{
    while (space->ended && !space->index.n_ended) {
        struct shmemi_copy_set *set = space->ended;
        space->ended = set->next_ended;
        DL_DELETE(space->sets, set);
        shmemi_copy_set_free(space, set);
    }
}

static void take_out(struct shmemi_space *space, const struct shmemi_mapping *mapping)
{
    size_t i = space->n_mappings;
    while (space->mappings[--i] != mapping)
        ;
    space->n_mappings--;
    memmove(&space->mappings[i], &space->mappings[i + 1], (space->n_mappings - i) * sizeof *space->mappings);
}

int shmemi_mapping_remove(struct shmemi_space *space, struct shmemi_mapping *mapping)
{
    int rc = unfollow_all(space, mapping);
    take_out(space, mapping);
    if (mapping->made)
        drop_reference(space, mapping->made);
    for (size_t i = 0; i < mapping->n_parts; i++)
        drop_reference(space, mapping->parts[i].copy->set);
    shmemi_mapping_close(mapping);
    free_ended(space);
    return rc;
}
