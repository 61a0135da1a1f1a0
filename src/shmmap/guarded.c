/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SHMEM_CHECK: guard bytes around the blocks of the symmetric heap, and the memory of freed ones. The blocks are in a
 * tree by address, with their guards, so that every address belongs to one at most.
 */
#define _GNU_SOURCE
#include "shmmap/guarded.h"

#include "shmmap/symmetric.h"

#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 0xfb, FREED = 0xfd, RESTING_BLOCKS = 1024, RESTING_BYTES = 16 << 20 };

struct guarded_block {
    size_t offset, size; /* the program's bytes; guards lie before and after them */
    const char *made_by, *freed_by;
    struct guarded_block *next; /* the one that was freed next */
};

static struct {
    pthread_mutex_t lock;
    void *tree;
    struct guarded_block *oldest, *newest; /* of those that rest */
    size_t n_resting, resting_bytes;
} blocks = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What a block takes up in the heap, which deals in units of a cache line. */
static size_t room_of(const struct guarded_block *block)
{
    enum { UNIT = SHMEMI_CACHE_LINE };
    return (block->size + 2 * SHMEMI_GUARD_BYTES + UNIT - 1) / UNIT * UNIT;
}

static char *at(size_t offset)
{
    return shmemi_heap_region.base + offset;
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

/* Two blocks are equal when they overlap, guards included: one that is looked for has no bytes and no guards. */
static int compare(const void *a, const void *b)
{
    const struct guarded_block *x = a, *y = b;
    const size_t x_guard = x->made_by ? SHMEMI_GUARD_BYTES : 0, y_guard = y->made_by ? SHMEMI_GUARD_BYTES : 0;
    if (x->offset + x->size + x_guard <= y->offset - y_guard)
        return -1;
    return x->offset - x_guard >= y->offset + y->size + y_guard;
}

/* The block that an offset belongs to, as one of its own bytes or of its guards. */
static struct guarded_block *find(size_t offset)
{
    const struct guarded_block key = {.offset = offset, .size = 1};
    struct guarded_block **found = tfind(&key, &blocks.tree, compare);
    return found ? *found : NULL;
}

static struct guarded_block *find_start(size_t offset)
{
    struct guarded_block *block = find(offset);
    return block && block->offset == offset ? block : NULL;
}

static void forget(struct guarded_block *block)
{
    tdelete(block, &blocks.tree, compare);
    free(block);
}

/* ---- guards and filling ------------------------------------------------------------------------------------------ */

static void fill_guards(const struct guarded_block *block)
{
    memset(at(block->offset - SHMEMI_GUARD_BYTES), GUARD, SHMEMI_GUARD_BYTES);
    memset(at(block->offset + block->size), GUARD, SHMEMI_GUARD_BYTES);
}

/* The first of nbytes that is not `expected`; nbytes if all are. */
static size_t first_other(const char *bytes, size_t nbytes, int expected)
{
    size_t i = 0;
    while (i < nbytes && (unsigned char)bytes[i] == expected)
        i++;
    return i;
}

static _Noreturn void report_before(const char *routine, const struct guarded_block *block)
{
    size_t distance = 1; /* of the nearest byte that was changed */
    while ((unsigned char)*at(block->offset - distance) == GUARD)
        distance++;
    shmemi_fatal("%s: memory before the block of %zu bytes at %p (from %s) was overwritten, up to %zu bytes before it",
                 routine, block->size, (void *)at(block->offset), block->made_by, distance);
}

static void check_guards(const char *routine, const struct guarded_block *block)
{
    if (first_other(at(block->offset - SHMEMI_GUARD_BYTES), SHMEMI_GUARD_BYTES, GUARD) < SHMEMI_GUARD_BYTES)
        report_before(routine, block);
    size_t past = first_other(at(block->offset + block->size), SHMEMI_GUARD_BYTES, GUARD);
    if (past < SHMEMI_GUARD_BYTES)
        shmemi_fatal("%s: memory after the block of %zu bytes at %p (from %s) was overwritten, from %zu bytes past its "
                     "end on",
                     routine, block->size, (void *)at(block->offset), block->made_by, past);
}

static void check_filling(const char *routine, const struct guarded_block *block)
{
    size_t changed = first_other(at(block->offset), block->size, FREED);
    if (changed < block->size)
        shmemi_fatal("%s: the block of %zu bytes at %p (from %s) was written at offset %zu after %s had freed it",
                     routine, block->size, (void *)at(block->offset), block->made_by, changed, block->freed_by);
}

static void check_block(const char *routine, const struct guarded_block *block)
{
    check_guards(routine, block);
    if (block->freed_by)
        check_filling(routine, block);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static struct guarded_block *add(size_t offset)
{
    struct guarded_block *block = calloc(1, sizeof *block);
    if (block)
        *block = (struct guarded_block){.offset = offset, .made_by = ""};
    if (!block || !tsearch(block, &blocks.tree, compare))
        shmemi_fatal("out of memory for the bookkeeping of SHMEM_CHECK");
    return block;
}

void shmemi_guarded_made(const char *routine, size_t offset, size_t size)
{
    pthread_mutex_lock(&blocks.lock);
    struct guarded_block *block = find_start(offset);
    if (!block)
        block = add(offset);
    block->size = size;
    block->made_by = routine;
    fill_guards(block);
    pthread_mutex_unlock(&blocks.lock);
}

static void release_oldest(const char *routine)
{
    struct guarded_block *block = blocks.oldest;
    check_block(routine, block);
    blocks.oldest = block->next;
    blocks.n_resting--;
    blocks.resting_bytes -= room_of(block);
    shmemi_heap_release(shmemi_heap, block->offset);
    forget(block);
}

static void put_to_rest(struct guarded_block *block)
{
    memset(at(block->offset), FREED, block->size);
    if (blocks.oldest)
        blocks.newest->next = block;
    else
        blocks.oldest = block;
    blocks.newest = block;
    blocks.n_resting++;
    blocks.resting_bytes += room_of(block);
}

bool shmemi_guarded_is_live(const char *routine, size_t offset)
{
    pthread_mutex_lock(&blocks.lock);
    const struct guarded_block *block = find_start(offset);
    if (block && block->freed_by)
        shmemi_fatal("%s: the block of %zu bytes at %p (from %s) was freed before, by %s", routine, block->size,
                     (void *)at(offset), block->made_by, block->freed_by);
    pthread_mutex_unlock(&blocks.lock);
    return block;
}

int shmemi_guarded_free(const char *routine, size_t offset)
{
    if (!shmemi_guarded_is_live(routine, offset))
        return -EINVAL;
    pthread_mutex_lock(&blocks.lock);
    struct guarded_block *block = find_start(offset);
    check_guards(routine, block);
    block->freed_by = routine;
    put_to_rest(block);
    while (blocks.n_resting > RESTING_BLOCKS || blocks.resting_bytes > RESTING_BYTES)
        release_oldest(routine);
    pthread_mutex_unlock(&blocks.lock);
    return 0;
}

bool shmemi_guarded_flush(const char *routine)
{
    pthread_mutex_lock(&blocks.lock);
    const bool had_some = blocks.oldest;
    while (blocks.oldest)
        release_oldest(routine);
    pthread_mutex_unlock(&blocks.lock);
    return had_some;
}

size_t shmemi_guarded_resting(void)
{
    pthread_mutex_lock(&blocks.lock);
    size_t nbytes = blocks.resting_bytes;
    pthread_mutex_unlock(&blocks.lock);
    return nbytes;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static void check_node(const void *node, VISIT visit, void *routine)
{
    if (visit == postorder || visit == leaf)
        check_block(routine, *(struct guarded_block *const *)node);
}

void shmemi_guarded_check_all(const char *routine)
{
    pthread_mutex_lock(&blocks.lock);
    twalk_r(blocks.tree, check_node, (void *)(uintptr_t)routine);
    pthread_mutex_unlock(&blocks.lock);
}

static _Noreturn void report_range(const char *routine, const char *what, const void *address, size_t nbytes,
                                   const struct guarded_block *block)
{
    if (!block)
        shmemi_fatal("%s: %s%p + %zu bytes lies in no block of the symmetric heap", routine, what, address, nbytes);
    if (block->freed_by)
        shmemi_fatal("%s: %s%p + %zu bytes lies in the block of %zu bytes at %p (from %s) that %s has freed", routine,
                     what, address, nbytes, block->size, (void *)at(block->offset), block->made_by, block->freed_by);
    shmemi_fatal("%s: %s%p + %zu bytes leaves the block of %zu bytes at %p (from %s)", routine, what, address, nbytes,
                 block->size, (void *)at(block->offset), block->made_by);
}

void shmemi_guarded_check_range(const char *routine, const char *what, const void *address, size_t nbytes)
{
    const size_t offset = (size_t)((const char *)address - shmemi_heap_region.base);
    pthread_mutex_lock(&blocks.lock);
    const struct guarded_block *block = find(offset);
    if (!block || block->freed_by || offset < block->offset || offset > block->offset + block->size ||
        nbytes > block->offset + block->size - offset)
        report_range(routine, what, address, nbytes, block);
    pthread_mutex_unlock(&blocks.lock);
}

void shmemi_guarded_close(void)
{
    pthread_mutex_lock(&blocks.lock);
    tdestroy(blocks.tree, free);
    blocks.tree = NULL;
    blocks.oldest = blocks.newest = NULL;
    blocks.n_resting = blocks.resting_bytes = 0;
    pthread_mutex_unlock(&blocks.lock);
}
