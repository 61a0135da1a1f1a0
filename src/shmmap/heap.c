/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The allocator of the symmetric heap. Blocks form a list by address. Used blocks are found by offset through a hash
 * table (uthash), free ones through lists by size class: class c holds sizes from 2^c to 2^(c+1) - 1, and the smallest
 * that fits is taken, the one at the lowest offset among equals.
 */
#include "shmmap/heap.h"

#include "base/system/cache_line.h"
#include "base/log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define HASH_NONFATAL_OOM 1 /* when out of memory, the handle of the item that was to be added has no table */
#include <uthash.h>
#include <utlist.h>

enum { UNIT = SHMEMI_CACHE_LINE, CLASSES = 64 }; /* objects never share a line */

struct heap_block {
    size_t offset, size; /* multiples of UNIT */
    size_t asked;        /* size that the user has requested; 0: the block is free */
    struct heap_block *before, *after;
    struct heap_block *prev, *next; /* in the list of its size class, while free */
    UT_hash_handle hh;              /* in the table of used blocks */
};

struct shmemi_heap {
    size_t size, used;
    size_t guard; /* bytes before and after what the user has requested of a block */
    struct heap_block *first;
    struct heap_block *used_blocks;
    struct heap_block *free_blocks[CLASSES];
};

static int out_of_memory(void)
{
    shmemi_error("out of memory for the bookkeeping of the symmetric heap");
    return -ENOMEM;
}

static unsigned class_of(size_t size)
{
    return 63u - (unsigned)__builtin_clzll((unsigned long long)size);
}

static void insert_free(struct shmemi_heap *heap, struct heap_block *block)
{
    block->asked = 0;
    DL_PREPEND(heap->free_blocks[class_of(block->size)], block);
}

static void remove_free(struct shmemi_heap *heap, struct heap_block *block)
{
    DL_DELETE(heap->free_blocks[class_of(block->size)], block);
}

static void unlink_block(struct heap_block *block)
{
    block->before->after = block->after;
    if (block->after)
        block->after->before = block->before;
    free(block);
}

/* Cut a block in two; the second part starts `size` bytes into it and is in no list yet. Out of memory: logs and
 * returns NULL. */
static struct heap_block *split(struct heap_block *block, size_t size)
{
    struct heap_block *rest = calloc(1, sizeof *rest);
    if (!rest) {
        out_of_memory();
        return NULL;
    }
    rest->offset = block->offset + size;
    rest->size = block->size - size;
    rest->before = block;
    rest->after = block->after;
    if (rest->after)
        rest->after->before = rest;
    block->after = rest;
    block->size = size;
    return rest;
}

struct shmemi_heap *shmemi_heap_create(size_t size, size_t reserved, size_t guard)
{
    struct shmemi_heap *heap = calloc(1, sizeof *heap);
    struct heap_block *whole = calloc(1, sizeof *whole);
    if (!heap || !whole) {
        free(heap);
        free(whole);
        out_of_memory();
        return NULL;
    }
    whole->offset = (reserved + UNIT - 1) / UNIT * UNIT;
    whole->size = (size - whole->offset) / UNIT * UNIT;
    heap->size = whole->size;
    heap->guard = guard;
    heap->first = whole;
    insert_free(heap, whole);
    return heap;
}

void shmemi_heap_destroy(struct shmemi_heap *heap)
{
    if (!heap)
        return;
    HASH_CLEAR(hh, heap->used_blocks);
    for (struct heap_block *block = heap->first, *after; block; block = after) {
        after = block->after;
        free(block);
    }
    free(heap);
}

static size_t padding_for(const struct shmemi_heap *heap, const struct heap_block *block, size_t alignment)
{
    return -(block->offset + heap->guard) & (alignment - 1);
}

static bool fits(const struct shmemi_heap *heap, const struct heap_block *block, size_t size, size_t alignment)
{
    size_t padding = padding_for(heap, block, alignment);
    return padding <= block->size && size <= block->size - padding;
}

static struct heap_block *find_free(const struct shmemi_heap *heap, size_t size, size_t alignment)
{
    struct heap_block *best = NULL, *block;
    for (unsigned c = class_of(size); c < CLASSES && !best; c++) {
        DL_FOREACH (heap->free_blocks[c], block) {
            if (!fits(heap, block, size, alignment))
                continue;
            if (!best || block->size < best->size || (block->size == best->size && block->offset < best->offset))
                best = block;
        }
    }
    return best;
}

static bool to_units(const struct shmemi_heap *heap, size_t asked, size_t *size_p)
{
    if (asked == 0 || asked > SIZE_MAX / 2)
        return false;
    *size_p = (asked + 2 * heap->guard + UNIT - 1) / UNIT * UNIT;
    return true;
}

static void merge_after(struct shmemi_heap *heap, struct heap_block *block)
{
    struct heap_block *after = block->after;
    if (!after || after->asked)
        return;
    remove_free(heap, after);
    block->size += after->size;
    unlink_block(after);
}

/* Free the part of a block after its first `size` bytes. -ENOMEM: the block keeps it. */
static int trim(struct shmemi_heap *heap, struct heap_block *block, size_t size)
{
    if (block->size == size)
        return 0;
    struct heap_block *rest = split(block, size);
    if (!rest)
        return -ENOMEM;
    merge_after(heap, rest);
    insert_free(heap, rest);
    return 0;
}

/* Make a block that is not in the table of used blocks free, as one with free neighbours. */
static void release(struct shmemi_heap *heap, struct heap_block *block)
{
    struct heap_block *before = block->before;
    merge_after(heap, block);
    if (before && !before->asked) {
        remove_free(heap, before);
        before->size += block->size;
        unlink_block(block);
        block = before;
    }
    insert_free(heap, block);
}

/* Make the end of a free block, `padding` bytes from its start, a block of its own. NULL when out of memory. */
static struct heap_block *without_padding(struct shmemi_heap *heap, struct heap_block *block, size_t padding)
{
    remove_free(heap, block);
    if (!padding)
        return block;
    struct heap_block *aligned = split(block, padding);
    insert_free(heap, block);
    return aligned;
}

static int add_used(struct shmemi_heap *heap, struct heap_block *block)
{
    HASH_ADD(hh, heap->used_blocks, offset, sizeof block->offset, block);
    return block->hh.tbl ? 0 : out_of_memory();
}

int shmemi_heap_allocate(struct shmemi_heap *heap, size_t asked, size_t alignment, size_t *offset_p)
{
    size_t size;
    if (!to_units(heap, asked, &size))
        return -ENOSPC;
    if (alignment < UNIT)
        alignment = UNIT;
    struct heap_block *block = find_free(heap, size, alignment);
    if (!block)
        return -ENOSPC;
    block = without_padding(heap, block, padding_for(heap, block, alignment));
    if (!block)
        return -ENOMEM;
    int rc = trim(heap, block, size);
    if (!rc)
        rc = add_used(heap, block);
    if (rc) {
        release(heap, block);
        return rc;
    }
    block->asked = asked;
    heap->used += block->size;
    *offset_p = block->offset + heap->guard;
    return 0;
}

static struct heap_block *find_used(const struct shmemi_heap *heap, size_t offset)
{
    struct heap_block *block;
    offset -= heap->guard;
    HASH_FIND(hh, heap->used_blocks, &offset, sizeof offset, block);
    return block;
}

int shmemi_heap_release(struct shmemi_heap *heap, size_t offset)
{
    struct heap_block *block = find_used(heap, offset);
    if (!block)
        return -EINVAL;
    HASH_DELETE(hh, heap->used_blocks, block);
    heap->used -= block->size;
    release(heap, block);
    return 0;
}

size_t shmemi_heap_size_at(const struct shmemi_heap *heap, size_t offset)
{
    const struct heap_block *block = find_used(heap, offset);
    return block ? block->asked : 0;
}

int shmemi_heap_resize(struct shmemi_heap *heap, size_t offset, size_t asked)
{
    struct heap_block *block = find_used(heap, offset);
    size_t size;
    if (!block || !to_units(heap, asked, &size))
        return -ENOSPC;
    size_t room = block->size + (block->after && !block->after->asked ? block->after->size : 0);
    if (size > room)
        return -ENOSPC;
    heap->used -= block->size;
    if (size > block->size)
        merge_after(heap, block);
    block->asked = asked;
    int rc = trim(heap, block, size);
    heap->used += block->size;
    return rc;
}

void shmemi_heap_state(const struct shmemi_heap *heap, struct shmemi_heap_state *state)
{
    *state = (struct shmemi_heap_state){.size = heap->size, .used = heap->used};
    for (int c = CLASSES - 1; c >= 0 && !state->largest_free; c--)
        for (const struct heap_block *block = heap->free_blocks[c]; block; block = block->next)
            if (block->size > state->largest_free)
                state->largest_free = block->size;
}
