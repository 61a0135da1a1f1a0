/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device memory for the copies of a space: the user's buffer, or CUDA memory that is taken from the driver in arenas.
 * Addresses are those that the device's code uses: device pointers; in OpenCL buffers, offsets from their start.
 *
 * Arenas that are empty are kept for the next copies, until no other memory can be had or the space is destroyed.
 */
#ifndef SHMEMI_SPACE_MEMORY_H
#define SHMEMI_SPACE_MEMORY_H

#include "gpu/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHMEMI_SPACE_ALIGNMENT = 256, SHMEMI_SPACE_UNIT = 16 };

struct shmemi_arena;

struct shmemi_space_memory {
    const struct shmemi_memory *kind;
    int device;         /* ordinal */
    bool is_users;      /* one arena, which is the user's buffer */
    bool is_per_object; /* each allocation is one of the driver's */
    void *object;       /* record of the memory's kind, for places */
    uintptr_t origin;   /* added to an address, gives the address of a place */
    struct shmemi_arena *arenas;
    size_t n_arenas;
};

/* Open memory in a buffer, as shmmap takes it, of this size; or, if it is NULL, on the device. Returns 0, or logs an
 * error and returns -errno. */
int shmemi_space_memory_open(struct shmemi_space_memory *memory, const struct shmemi_memory *kind, void *buffer,
                             size_t size, int device, bool is_per_object);
void shmemi_space_memory_close(struct shmemi_space_memory *memory);

/* Prepare for size bytes, in any number of allocations, so that they are likely to lie together. If this fails, the
 * allocations fail. */
void shmemi_space_memory_expect(struct shmemi_space_memory *memory, size_t size);
/* Returns 0, -ENOSPC if the buffer is full, or -ENOMEM if the device is full; the caller logs it and what the memory
 * was for. alignment: a power of two, at most SHMEMI_SPACE_ALIGNMENT. */
int shmemi_space_memory_allocate(struct shmemi_space_memory *memory, size_t size, size_t alignment,
                                 uint64_t *address_p);
/* Release any part of the memory, also across adjacent allocations; if is_per_object, one whole allocation. */
void shmemi_space_memory_release(struct shmemi_space_memory *memory, uint64_t address, size_t size);

/* The free bytes, and the largest contiguous piece of them, for messages. */
void shmemi_space_memory_state(const struct shmemi_space_memory *memory, size_t *free_p, size_t *largest_p);

static inline struct shmemi_place shmemi_space_place(const struct shmemi_space_memory *memory, uint64_t address)
{
    return (struct shmemi_place){memory->kind, memory->object, memory->origin + address};
}

#endif
