/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device memory for copies. An arena is a list of free ranges by address; an allocation takes the first that is large
 * enough. Adjacent free ranges are joined.
 */
#include "deep/space/space_memory.h"

#include "base/log.h"
#include "base/tuning.h"
#include "deep/sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* No copy begins at the start of an OpenCL buffer, since offset 0 is the null pointer. */
    OPENCL_GUARD = SHMEMI_SPACE_ALIGNMENT,
    REASON_BYTES = 160
};

struct free_range {
    uint64_t start, end;
};

struct shmemi_arena {
    void *allocated; /* argument for deallocate; NULL for the user's buffer */
    struct shmemi_allocation allocation;
    uint64_t start, end;
    struct free_range *free;
    size_t n_free, room;
};

static inline uint64_t align_up(uint64_t value, size_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

/* ---- Ranges ------------------------------------------------------------------------------------------------------ */

static bool insert_range(struct shmemi_arena *arena, size_t i, struct free_range range)
{
    if (arena->n_free == arena->room) {
        size_t room = arena->room ? 2 * arena->room : 16;
        struct free_range *free_ranges = realloc(arena->free, room * sizeof *free_ranges);
        if (!free_ranges)
            return false;
        arena->free = free_ranges;
        arena->room = room;
    }
    memmove(&arena->free[i + 1], &arena->free[i], (arena->n_free - i) * sizeof range);
    arena->free[i] = range;
    arena->n_free++;
    return true;
}

static void remove_range(struct shmemi_arena *arena, size_t i)
{
    memmove(&arena->free[i], &arena->free[i + 1], (arena->n_free - i - 1) * sizeof arena->free[i]);
    arena->n_free--;
}

static bool take(struct shmemi_arena *arena, size_t size, size_t alignment, uint64_t *address_p)
{
    for (size_t i = 0; i < arena->n_free; i++) {
        struct free_range *range = &arena->free[i];
        uint64_t start = align_up(range->start, alignment), old_start = range->start;
        if (start > range->end || range->end - start < size)
            continue;
        range->start = start + size;
        if (start > old_start && !insert_range(arena, i, (struct free_range){old_start, start})) {
            range->start = old_start;
            return false;
        }
        size_t rest = i + (start > old_start);
        if (arena->free[rest].start == arena->free[rest].end)
            remove_range(arena, rest);
        *address_p = start;
        return true;
    }
    return false;
}

/* If there is no host memory for another entry, the range stays allocated until the space is destroyed. */
static void give(struct shmemi_arena *arena, uint64_t start, uint64_t end)
{
    /* the first free range after it */
    size_t i =
        shmemi_sorted_up_to(arena->free, arena->n_free, sizeof *arena->free, offsetof(struct free_range, start), start);
    bool joins_left = i && arena->free[i - 1].end == start;
    bool joins_right = i < arena->n_free && arena->free[i].start == end;
    if (joins_left && joins_right) {
        arena->free[i - 1].end = arena->free[i].end;
        remove_range(arena, i);
    } else if (joins_left) {
        arena->free[i - 1].end = end;
    } else if (joins_right) {
        arena->free[i].start = start;
    } else if (!insert_range(arena, i, (struct free_range){start, end})) {
        shmemi_warn(
            "deep copy: %llu bytes of device memory stay allocated until the space is destroyed: no host memory",
            (unsigned long long)(end - start));
    }
}

static bool is_empty(const struct shmemi_arena *arena)
{
    return arena->n_free == 1 && arena->free[0].start == arena->start && arena->free[0].end == arena->end;
}

/* ---- Arenas ------------------------------------------------------------------------------------------------------ */

static int open_object(struct shmemi_space_memory *memory, void *object, size_t size,
                       struct shmemi_allocation *allocation)
{
    char reason[REASON_BYTES] = "";
    int rc = memory->kind->open_object(object, size, allocation, reason, sizeof reason);
    if (rc)
        shmemi_error("shmemx_deep_space_create: the buffer %s", reason);
    else
        memory->object = allocation->place.object;
    return rc;
}

/* Append an empty arena; NULL if there is no host memory. */
static struct shmemi_arena *append_arena(struct shmemi_space_memory *memory)
{
    struct shmemi_arena *arenas = realloc(memory->arenas, (memory->n_arenas + 1) * sizeof *arenas);
    if (!arenas)
        return NULL;
    memory->arenas = arenas;
    arenas[memory->n_arenas] = (struct shmemi_arena){0};
    return &arenas[memory->n_arenas];
}

static int finish_arena(struct shmemi_space_memory *memory, struct shmemi_arena *arena, uint64_t start, uint64_t end)
{
    arena->start = start;
    arena->end = end > start ? end : start;
    if (!insert_range(arena, 0, (struct free_range){arena->start, arena->end}))
        return -ENOMEM;
    memory->n_arenas++;
    return 0;
}

static int open_users(struct shmemi_space_memory *memory, void *buffer, size_t size)
{
    struct shmemi_arena *arena = append_arena(memory);
    if (!arena)
        return -ENOMEM;
    int rc = open_object(memory, buffer, size, &arena->allocation);
    if (rc)
        return rc;
    bool has_addresses = memory->kind->addresses;
    uint64_t start = has_addresses ? arena->allocation.place.address : 0;
    memory->origin = has_addresses ? 0 : arena->allocation.place.address;
    memory->device = arena->allocation.device;
    rc = finish_arena(memory, arena, has_addresses ? start : OPENCL_GUARD, start + size);
    if (rc)
        memory->kind->close_object(&arena->allocation);
    return rc;
}

static int add_arena(struct shmemi_space_memory *memory, size_t size)
{
    struct shmemi_arena *arena = append_arena(memory);
    if (!arena || memory->kind->allocate(memory->device, size, &arena->allocated))
        return -ENOMEM;
    int rc = open_object(memory, arena->allocated, size, &arena->allocation);
    if (rc)
        goto err_deallocate;
    uint64_t start = arena->allocation.place.address;
    rc = finish_arena(memory, arena, start, start + size);
    if (!rc)
        return 0;
    memory->kind->close_object(&arena->allocation);

err_deallocate:
    memory->kind->deallocate(arena->allocated);
    return rc;
}

static void close_arena(struct shmemi_space_memory *memory, struct shmemi_arena *arena)
{
    memory->kind->close_object(&arena->allocation);
    if (arena->allocated)
        memory->kind->deallocate(arena->allocated);
    free(arena->free);
}

static void close_empty_arenas(struct shmemi_space_memory *memory)
{
    for (size_t i = memory->n_arenas; i-- > 0;) {
        if (!is_empty(&memory->arenas[i]))
            continue;
        close_arena(memory, &memory->arenas[i]);
        memory->arenas[i] = memory->arenas[--memory->n_arenas];
    }
}

static bool has_room(const struct shmemi_space_memory *memory, size_t size)
{
    size_t free_bytes, largest;
    shmemi_space_memory_state(memory, &free_bytes, &largest);
    return largest >= size;
}

/* The existing arenas are too small or full. */
static int grow(struct shmemi_space_memory *memory, size_t size)
{
    size_t step = (size_t)align_up(size, SHMEMI_DEEP_ARENA_STEP);
    if (step < size)
        return -ENOMEM;
    close_empty_arenas(memory);
    if (step < SHMEMI_DEEP_ARENA && !add_arena(memory, SHMEMI_DEEP_ARENA))
        return 0;
    return add_arena(memory, step);
}

/* ---- Interface --------------------------------------------------------------------------------------------------- */

/* Finds the record of the device, which is the same for all of the driver's allocations. */
static int learn_object(struct shmemi_space_memory *memory)
{
    struct shmemi_allocation allocation;
    void *object;
    int rc = memory->kind->allocate(memory->device, SHMEMI_SPACE_ALIGNMENT, &object);
    if (rc)
        return rc;
    rc = open_object(memory, object, SHMEMI_SPACE_ALIGNMENT, &allocation);
    if (!rc)
        memory->kind->close_object(&allocation);
    memory->kind->deallocate(object);
    return rc;
}

int shmemi_space_memory_open(struct shmemi_space_memory *memory, const struct shmemi_memory *kind, void *buffer,
                             size_t size, int device, bool is_per_object)
{
    *memory = (struct shmemi_space_memory){
        .kind = kind, .device = device, .is_users = buffer, .is_per_object = is_per_object};
    int rc = buffer ? open_users(memory, buffer, size) : learn_object(memory);
    if (rc)
        free(memory->arenas);
    return rc;
}

void shmemi_space_memory_close(struct shmemi_space_memory *memory)
{
    for (size_t i = 0; i < memory->n_arenas; i++)
        close_arena(memory, &memory->arenas[i]);
    free(memory->arenas);
    *memory = (struct shmemi_space_memory){0};
}

void shmemi_space_memory_expect(struct shmemi_space_memory *memory, size_t size)
{
    if (!memory->is_users && !memory->is_per_object && !has_room(memory, size + SHMEMI_SPACE_ALIGNMENT))
        grow(memory, size + SHMEMI_SPACE_ALIGNMENT);
}

static bool take_somewhere(struct shmemi_space_memory *memory, size_t size, size_t alignment, uint64_t *address_p)
{
    for (size_t i = memory->n_arenas; i-- > 0;)
        if (take(&memory->arenas[i], size, alignment, address_p))
            return true;
    return false;
}

static int allocate_object(struct shmemi_space_memory *memory, size_t size, uint64_t *address_p)
{
    void *object;
    int rc = memory->kind->allocate(memory->device, size, &object);
    if (!rc)
        *address_p = (uintptr_t)object;
    return rc;
}

int shmemi_space_memory_allocate(struct shmemi_space_memory *memory, size_t size, size_t alignment, uint64_t *address_p)
{
    if (memory->is_per_object)
        return allocate_object(memory, size, address_p);
    if (take_somewhere(memory, size, alignment, address_p))
        return 0;
    if (memory->is_users)
        return -ENOSPC;
    int rc = grow(memory, size + alignment);
    if (rc)
        return rc;
    return take_somewhere(memory, size, alignment, address_p) ? 0 : -ENOMEM;
}

static void release_in(struct shmemi_arena *arena, uint64_t start, uint64_t end)
{
    uint64_t from = start > arena->start ? start : arena->start, to = end < arena->end ? end : arena->end;
    if (from < to)
        give(arena, from, to);
}

void shmemi_space_memory_release(struct shmemi_space_memory *memory, uint64_t address, size_t size)
{
    if (memory->is_per_object)
        memory->kind->deallocate((void *)(uintptr_t)address);
    for (size_t i = 0; i < memory->n_arenas; i++)
        release_in(&memory->arenas[i], address, address + size);
}

void shmemi_space_memory_state(const struct shmemi_space_memory *memory, size_t *free_p, size_t *largest_p)
{
    *free_p = *largest_p = 0;
    for (size_t i = 0; i < memory->n_arenas; i++) {
        const struct shmemi_arena *arena = &memory->arenas[i];
        for (size_t k = 0; k < arena->n_free; k++) {
            size_t size = (size_t)(arena->free[k].end - arena->free[k].start);
            *free_p += size;
            *largest_p = size > *largest_p ? size : *largest_p;
        }
    }
}
