/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds copies by host address in sorted runs. Copies that have ended stay in their run until half of all have ended.
 * In a run they never hide a live copy, since all copies of a run were live at the same time, and live copies do not
 * overlap.
 */
#include "deep/space/index.h"
#include "deep/sort.h"
#include "deep/space/space_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An entry has the layout of a pair for sorting. */
struct index_entry {
    uint64_t address;
    struct shmemi_space_copy *copy;
};
_Static_assert(sizeof(struct index_entry) == sizeof(struct shmemi_pair) &&
                   sizeof(struct shmemi_space_copy *) == sizeof(uint64_t),
               "an entry must be a pair of an address and a pointer");

struct shmemi_index_run {
    struct index_entry *entries;
    size_t n;
    bool is_sorted;
};

int shmemi_index_reserve(struct shmemi_index *index, size_t n)
{
    if (index->n_runs == index->room) {
        size_t room = index->room ? 2 * index->room : 16;
        struct shmemi_index_run *runs = realloc(index->runs, room * sizeof *runs);
        if (!runs)
            return -ENOMEM;
        memset(runs + index->room, 0, (room - index->room) * sizeof *runs);
        index->runs = runs;
        index->room = room;
    }
    struct shmemi_index_run *next = &index->runs[index->n_runs];
    free(next->entries); /* of an earlier reservation that was not used */
    next->entries = malloc((n ? n : 1) * sizeof *next->entries);
    return next->entries ? 0 : -ENOMEM;
}

void shmemi_index_add(struct shmemi_index *index, struct shmemi_space_copy *copies, size_t n)
{
    struct shmemi_index_run *run = &index->runs[index->n_runs];
    if (!n)
        return;
    run->n = n;
    run->is_sorted = true;
    for (size_t i = 0; i < n; i++) {
        run->entries[i] = (struct index_entry){copies[i].address, &copies[i]};
        run->is_sorted &= !i || copies[i - 1].address < copies[i].address;
    }
    index->n_runs++;
    index->n_entries += n;
    index->is_sorted = false;
}

/* ---- Sorting ----------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    uint64_t left = ((const struct index_entry *)a)->address, right = ((const struct index_entry *)b)->address;
    return (left > right) - (left < right);
}

static void remove_run(struct shmemi_index *index, size_t i)
{
    free(index->runs[i].entries);
    memmove(&index->runs[i], &index->runs[i + 1], (index->room - i - 1) * sizeof index->runs[i]);
    index->runs[index->room - 1] = (struct shmemi_index_run){0};
    index->n_runs--;
}

static struct index_entry *put_live(struct index_entry *end, const struct index_entry *entry)
{
    if (entry->copy->is_live)
        *end++ = *entry;
    return end;
}

/* Merge the live entries of two adjacent runs into one run. If there is no memory they stay two, and look-ups take
 * longer. */
static bool merge(struct shmemi_index *index, size_t left)
{
    struct shmemi_index_run *a = &index->runs[left], *b = a + 1;
    struct index_entry *merged = malloc((a->n + b->n) * sizeof *merged), *end = merged;
    const struct index_entry *from_a = a->entries, *from_b = b->entries;
    if (!merged)
        return false;
    while (from_a < a->entries + a->n && from_b < b->entries + b->n)
        end = put_live(end, from_a->address < from_b->address ? from_a++ : from_b++);
    while (from_a < a->entries + a->n)
        end = put_live(end, from_a++);
    while (from_b < b->entries + b->n)
        end = put_live(end, from_b++);
    size_t ended = a->n + b->n - (size_t)(end - merged);
    index->n_entries -= ended;
    index->n_ended -= ended;
    free(a->entries);
    a->entries = merged;
    a->n = (size_t)(end - merged);
    remove_run(index, left + 1);
    return true;
}

/* Falls back to a slower sort if there is no memory for the radix sort. */
static void sort_run(struct shmemi_index_run *run)
{
    struct shmemi_pair *other = malloc(run->n * sizeof *other);
    if (other)
        shmemi_sort_pairs((struct shmemi_pair *)run->entries, run->n, other);
    else
        qsort(run->entries, run->n, sizeof *run->entries, compare);
    free(other);
    run->is_sorted = true;
}

static void sort(struct shmemi_index *index)
{
    for (size_t i = 0; i < index->n_runs; i++) {
        if (!index->runs[i].is_sorted)
            sort_run(&index->runs[i]);
    }
    for (size_t i = index->n_runs; i-- > 1;)
        while (i < index->n_runs && index->runs[i - 1].n < 2 * index->runs[i].n && merge(index, i - 1))
            ;
    index->is_sorted = true;
}

/* ---- Looking up -------------------------------------------------------------------------------------------------- */

static struct shmemi_space_copy *find_in(const struct shmemi_index_run *run, uintptr_t address, size_t size)
{
    /* the first entry after the address */
    size_t i =
        shmemi_sorted_up_to(run->entries, run->n, sizeof *run->entries, offsetof(struct index_entry, address), address);
    if (i) {
        struct shmemi_space_copy *copy = run->entries[i - 1].copy;
        if (copy->is_live && address - copy->address < copy->size)
            return copy;
    }
    for (; i < run->n && run->entries[i].address - address < size; i++)
        if (run->entries[i].copy->is_live)
            return run->entries[i].copy;
    return NULL;
}

struct shmemi_space_copy *shmemi_index_find(struct shmemi_index *index, uintptr_t address, size_t size)
{
    struct shmemi_space_copy *best = NULL;
    if (!index->is_sorted)
        sort(index);
    for (size_t i = 0; i < index->n_runs; i++) {
        struct shmemi_space_copy *copy = find_in(&index->runs[i], address, size);
        if (copy && (!best || copy->address < best->address))
            best = copy;
    }
    return best;
}

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

static void compact(struct shmemi_index *index)
{
    for (size_t i = index->n_runs; i-- > 0;) {
        struct shmemi_index_run *run = &index->runs[i];
        struct index_entry *end = run->entries;
        for (size_t k = 0; k < run->n; k++)
            end = put_live(end, &run->entries[k]);
        run->n = (size_t)(end - run->entries);
        if (!run->n)
            remove_run(index, i);
    }
    index->n_entries -= index->n_ended;
    index->n_ended = 0;
}

bool shmemi_index_end(struct shmemi_index *index, size_t n)
{
    index->n_ended += n;
    if (2 * index->n_ended > index->n_entries)
        compact(index);
    return !index->n_ended;
}

void shmemi_index_close(struct shmemi_index *index)
{
    for (size_t i = 0; i < index->room; i++)
        free(index->runs[i].entries);
    free(index->runs);
    *index = (struct shmemi_index){0};
}
