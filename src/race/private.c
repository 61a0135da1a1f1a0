/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shadow of memory that is not symmetric: a table of pages, which only grows.
 */
#include "race/private.h"
#include "race/shadow.h"

#include <stdlib.h>

enum {
    PAGE_SHIFT = 12,
    PAGE_WORDS = (1 << PAGE_SHIFT) / RACE_WORD,
    TABLE_SIZE = 65536,
    PAGES_MOST = 16384, /* 64 MiB, whose shadow takes four times as much */
};

static struct page {
    _Atomic uintptr_t number; /* 0: free */
    struct race_word *words;
} table[TABLE_SIZE];
static unsigned n_pages;
static atomic_uint n_threads;
static race_lock lock;

void race_private_enter_thread(void)
{
    if (atomic_fetch_add(&n_threads, 1) > 0)
        race.has_threads = race.watches_private = true;
}

static struct page *slot_of(uintptr_t number)
{
    size_t i = (number * 0x9e3779b97f4a7c15u >> 40) % TABLE_SIZE;
    for (;; i = (i + 1) % TABLE_SIZE) {
        const uintptr_t there = atomic_load_explicit(&table[i].number, memory_order_acquire);
        if (there == number || !there)
            return &table[i];
    }
}

static struct page *make_page(uintptr_t number)
{
    race_lock_take(&lock);
    struct page *page = slot_of(number);
    struct race_word *words = NULL;
    if (!page->number && n_pages < PAGES_MOST)
        words = aligned_alloc(sizeof *words, PAGE_WORDS * sizeof *words);
    if (words) {
        for (int i = 0; i < PAGE_WORDS; i++)
            words[i] = (struct race_word){0};
        page->words = words;
        atomic_store_explicit(&page->number, number, memory_order_release);
        n_pages++;
        race.watches_private = true;
    } else if (!page->number) {
        atomic_fetch_add(&race_area->n_lost, 1);
    }
    race_lock_give(&lock);
    return page;
}

struct race_word *race_private_word(uintptr_t address, bool makes)
{
    const uintptr_t number = address >> PAGE_SHIFT;
    struct page *page = slot_of(number);
    if (!page->number && makes)
        page = make_page(number);
    return page->number ? &page->words[address % (1 << PAGE_SHIFT) / RACE_WORD] : NULL;
}

/* Visit a range page by page. */
static size_t rest_of_page(uintptr_t address, size_t size)
{
    const size_t rest = (1 << PAGE_SHIFT) - address % (1 << PAGE_SHIFT);
    return rest < size ? rest : size;
}

void race_private_check(uintptr_t address, size_t size, const struct race_access *access, bool watches)
{
    while (size) {
        const size_t part = rest_of_page(address, size);
        struct race_word *word = race_private_word(address, watches);
        if (word)
            race_check(word, address % RACE_WORD, part, access);
        address += part;
        size -= part;
    }
}

void race_private_watch(uintptr_t address, size_t size)
{
    struct race_place place;
    if (race_locate_mapped(&place, address))
        return;
    while (size) {
        const size_t part = rest_of_page(address, size);
        (void)race_private_word(address, true);
        address += part;
        size -= part;
    }
}

void race_private_clear(uintptr_t address, size_t size)
{
    while (size) {
        const size_t part = rest_of_page(address, size);
        struct race_word *word = race_private_word(address, false);
        if (word)
            race_clear(word, address % RACE_WORD + part);
        address += part;
        size -= part;
    }
}

uintptr_t race_private_address(uint64_t number)
{
    const uintptr_t word = (number & ((UINT64_C(1) << 48) - 1)) * sizeof(struct race_word);
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        const uintptr_t offset = word - (uintptr_t)table[i].words;
        if (table[i].number && offset < PAGE_WORDS * sizeof(struct race_word))
            return (table[i].number << PAGE_SHIFT) + offset / sizeof(struct race_word) * RACE_WORD;
    }
    return 0;
}
