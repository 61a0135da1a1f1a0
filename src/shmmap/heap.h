/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allocator of the symmetric heap: best fit, free neighbours merge at once, the bookkeeping is outside of the heap. It
 * is deterministic: PEs that make the same calls get the same offsets, so no PE has to tell another where an object is.
 */
#ifndef SHMEMI_HEAP_H
#define SHMEMI_HEAP_H

#include <stddef.h>
#include <stdint.h>

struct shmemi_heap;

struct shmemi_heap_state {
    size_t size, used, largest_free;
};

/* A heap of size bytes of offsets; its first `reserved` bytes are never given out. On both sides of each block, at least
 * `guard` bytes, whole cache lines, belong to it that the program has not asked for. NULL (logged): out of memory. */
struct shmemi_heap *shmemi_heap_create(size_t size, size_t reserved, size_t guard);
void shmemi_heap_destroy(struct shmemi_heap *heap);

/* Give out size bytes (> 0) at *offset_p, a multiple of alignment (a power of two). -ENOSPC when no free block is large
 * enough; -ENOMEM, logged, when there is no memory for the bookkeeping: the heap is unchanged, but unlike those of the
 * other PEs. */
int shmemi_heap_allocate(struct shmemi_heap *heap, size_t size, size_t alignment, size_t *offset_p);
/* Take back the block at offset. -EINVAL when none starts there. */
int shmemi_heap_release(struct shmemi_heap *heap, size_t offset);
/* The size that was requested for the block at offset; 0 when none starts there. */
size_t shmemi_heap_size_at(const struct shmemi_heap *heap, size_t offset);
/* Change the size of the block at offset without moving it: 0; -ENOSPC when there is no room after it; -ENOMEM, logged:
 * the block has more room than those of the other PEs. */
int shmemi_heap_resize(struct shmemi_heap *heap, size_t offset, size_t size);

void shmemi_heap_state(const struct shmemi_heap *heap, struct shmemi_heap_state *state);

#endif
