/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last accesses to each 8 bytes, exact to the byte.
 */
#ifndef RACE_SHADOW_H
#define RACE_SHADOW_H

#include "race/area.h"

enum { RACE_ROUTINE_SHIFT = 48 };
#define RACE_PC_MASK ((UINT64_C(1) << RACE_ROUTINE_SHIFT) - 1)

static inline uint64_t race_key(race_time when, uint16_t component, uint8_t bytes, uint8_t flags)
{
    return (uint64_t)when << 32 | (uint64_t)component << 16 | (uint64_t)bytes << 8 | flags;
}
static inline uint8_t race_key_bytes(uint64_t key)
{
    return (uint8_t)(key >> 8);
}

/* Compare an access to size bytes, beginning at byte first of a word, with what the words have, report races, and keep
 * it. */
void race_check(struct race_word *word, unsigned first, size_t size, const struct race_access *access);

/* What a thread that has seen the value of size bytes learns from who wrote them. */
void race_see(struct race_thread *thread, struct race_word *word, unsigned first, size_t size, int pe);

/* Nothing is known of these bytes any more: whole words. */
void race_clear(struct race_word *word, size_t size);

/* report.c: two accesses of which neither is before the other. */
struct race_found {
    struct race_access access; /* the later one; its clock is not to be used */
    uint64_t key, place;       /* the earlier one */
    uint64_t word;
    unsigned first, n_bytes; /* the first byte in that word, and how many of the access both touch */
    bool is_note;            /* a barrier lies between, which did not complete the context */
};

void race_report(const struct race_found *found);
/* No races are reported from now on, in the whole job: there is order that cannot be seen. Tells so. */
void race_give_up(const char *cause);
/* Lines that the program's end has: how many races there were. */
void race_report_end(void);

/* spill.c: cells of words that have no room for them. The lock of the word's stripe is held. */
void race_spill(uint64_t word, uint64_t key, uint64_t place);
/* Visit those of a word; those for which visit returns true are taken away. Returns how many remain. */
unsigned race_visit_spilled(uint64_t word, bool (*visit)(uint64_t key, uint64_t place, void *argument), void *argument);

#endif
