/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cells of the shadow for which their words have no room: a table in the area, by word.
 */
#include "race/shadow.h"

static uint32_t *head_of(uint64_t word)
{
    return &race_area->spilled_head[(word * 0x9e3779b97f4a7c15u >> 40) % RACE_SPILLED_HEADS];
}

/* The number of a free entry; 0: there is none. */
static uint32_t take_entry(void)
{
    const uint32_t free = race_area->spilled_free;
    if (free) {
        race_area->spilled_free = race_area->spilled[free].next;
        return free;
    }
    const uint32_t used = atomic_load(&race_area->n_spilled) + 1;
    if (used >= RACE_SPILLED)
        return 0;
    atomic_store(&race_area->n_spilled, used);
    return used;
}

void race_spill(uint64_t word, uint64_t key, uint64_t place)
{
    race_lock_take(&race_area->spill_lock);
    const uint32_t number = take_entry();
    if (number) {
        uint32_t *head = head_of(word);
        struct race_spilled *entry = &race_area->spilled[number];
        entry->word = word;
        entry->cell.place = place;
        atomic_store_explicit(&entry->cell.key, key, memory_order_relaxed);
        entry->next = *head;
        *head = number;
    } else {
        atomic_fetch_add(&race_area->n_lost, 1);
    }
    race_lock_give(&race_area->spill_lock);
}

unsigned race_visit_spilled(uint64_t word, bool (*visit)(uint64_t key, uint64_t place, void *argument), void *argument)
{
    unsigned n_left = 0;
    race_lock_take(&race_area->spill_lock);
    for (uint32_t *link = head_of(word); *link;) {
        struct race_spilled *entry = &race_area->spilled[*link];
        if (entry->word == word && visit(entry->cell.key, entry->cell.place, argument)) {
            const uint32_t number = *link;
            *link = entry->next;
            entry->next = race_area->spilled_free;
            race_area->spilled_free = number;
            continue;
        }
        n_left += entry->word == word;
        link = &entry->next;
    }
    race_lock_give(&race_area->spill_lock);
    return n_left;
}
