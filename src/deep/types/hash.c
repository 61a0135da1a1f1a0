/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Layout hashes. The hash of a type depends on its own links and on the hashes of the types that it refers to. Types
 * that refer to each other in a circle are hashed together, in as many rounds as the circle has types. The order of
 * creation does not matter, since circles are found from the types themselves (Tarjan's algorithm).
 */
#include "deep/types/type_table.h"

#include "deep/types/count.h"
#include "deep/types/hash.h"

#include <errno.h>
#include <stdlib.h>

struct circle_search {
    size_t n_found, n_waiting;
    struct shmemi_type_entry **waiting; /* types that were found, but whose circle is not complete */
    uint64_t *hashes;                   /* of a round */
    uint64_t next_circle;
};

uint64_t shmemi_type_hash_alone(const struct shmemi_type *type)
{
    uint64_t hash = shmemi_hash_add(type->size, type->n_links);
    for (size_t i = 0; i < type->n_links; i++) {
        const struct shmemi_type_link *link = &type->links[i];
        hash = shmemi_hash_add(hash, (uint64_t)link->kind);
        hash = shmemi_hash_add(hash, link->offset);
        hash = shmemi_hash_add(hash, link->n);
        if (link->count)
            hash = shmemi_count_hash(link->count, hash);
    }
    return hash;
}

static uint64_t hash_targets(const struct shmemi_type *type)
{
    uint64_t hash = type->layout;
    for (size_t i = 0; i < type->n_links; i++)
        hash = shmemi_hash_add(hash, type->links[i].target ? type->links[i].target->layout : 0);
    return hash;
}

static void hash_circle(struct circle_search *search, struct shmemi_type_entry **types, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        types[i]->circle = search->next_circle;
        types[i]->type.layout = shmemi_type_hash_alone(&types[i]->type);
    }
    for (size_t round = 0; round < n; round++) {
        for (size_t i = 0; i < n; i++)
            search->hashes[i] = hash_targets(&types[i]->type);
        for (size_t i = 0; i < n; i++)
            types[i]->type.layout = search->hashes[i];
    }
    search->next_circle++;
}

/* All types that entry reaches are done, and entry was found first in its circle; so the circle consists of all types
 * that have been waiting since then. */
static void complete_circle(struct circle_search *search, const struct shmemi_type_entry *entry)
{
    size_t first = search->n_waiting;
    do {
        search->waiting[--first]->visit = SHMEMI_VISITED;
    } while (search->waiting[first] != entry);
    hash_circle(search, search->waiting + first, search->n_waiting - first);
    search->n_waiting = first;
}

static void find_circles(struct circle_search *search, struct shmemi_type_entry *entry)
{
    entry->visit = SHMEMI_VISITING;
    entry->order = entry->earliest = search->n_found++;
    search->waiting[search->n_waiting++] = entry;
    for (size_t i = 0; i < entry->n_fields; i++) {
        struct shmemi_type_entry *target = entry->fields[i].target;
        if (!target || target->visit == SHMEMI_VISITED)
            continue;
        if (target->visit == SHMEMI_NOT_VISITED)
            find_circles(search, target);
        if (target->visit == SHMEMI_VISITING && target->earliest < entry->earliest)
            entry->earliest = target->earliest;
    }
    if (entry->earliest == entry->order)
        complete_circle(search, entry);
}

int shmemi_types_hash(const struct shmemi_new_types *new_types, uint64_t first_circle)
{
    struct circle_search search = {.next_circle = first_circle};
    search.waiting = calloc(new_types->n + 1, sizeof(struct shmemi_type_entry *));
    search.hashes = calloc(new_types->n + 1, sizeof *search.hashes);
    int rc = search.waiting && search.hashes ? 0 : -ENOMEM;
    for (size_t i = 0; i < new_types->n; i++)
        new_types->entries[i]->visit = SHMEMI_NOT_VISITED;
    for (size_t i = 0; !rc && i < new_types->n; i++)
        if (new_types->entries[i]->visit == SHMEMI_NOT_VISITED)
            find_circles(&search, new_types->entries[i]);
    free(search.waiting);
    free(search.hashes);
    return rc;
}
