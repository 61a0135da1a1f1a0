/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cells of the shadow for which their words have no room: a table in the area, by word.
 */
#include "race/shadow.h"

/* A list has words of one stripe, whose lock is held. */
static uint32_t *head_of(uint64_t word)
{
    const size_t lists_of_stripe = RACE_SPILLED_HEADS / RACE_STRIPES;
    return &race_area->spilled_head[race_stripe(word) * lists_of_stripe + word % lists_of_stripe];
}

/* The number of a free entry; 0: there is none. */
static uint32_t take_entry(uint64_t word)
{
    uint32_t *free = &race_area->spilled_free[race_stripe(word)];
    uint32_t number = *free, used;
    if (number) {
        *free = race_area->spilled[number].next;
        return number;
    }
    used = atomic_load(&race_area->n_spilled);
    while (used + 1 < RACE_SPILLED)
        if (atomic_compare_exchange_weak(&race_area->n_spilled, &used, used + 1))
            return used + 1;
    return 0;
}

void race_spill(uint64_t word, uint64_t key, uint64_t place)
{
    const uint32_t number = take_entry(word);
    if (!number) {
        atomic_fetch_add(&race_area->n_lost, 1);
        return;
    }
    uint32_t *head = head_of(word);
    struct race_spilled *entry = &race_area->spilled[number];
    entry->word = word;
    entry->cell.place = place;
    atomic_store_explicit(&entry->cell.key, key, memory_order_relaxed);
    entry->next = *head;
    *head = number;
}

unsigned race_visit_spilled(uint64_t word, bool (*visit)(uint64_t key, uint64_t place, void *argument), void *argument)
{
    unsigned n_left = 0;
    uint32_t *free = &race_area->spilled_free[race_stripe(word)];
    for (uint32_t *link = head_of(word); *link;) {
        struct race_spilled *entry = &race_area->spilled[*link];
        if (entry->word == word && visit(entry->cell.key, entry->cell.place, argument)) {
            const uint32_t number = *link;
            *link = entry->next;
            entry->next = *free;
            *free = number;
            continue;
        }
        n_left += entry->word == word;
        link = &entry->next;
    }
    return n_left;
}
