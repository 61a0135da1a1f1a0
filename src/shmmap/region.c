/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reserved address range, the regions in it and their lookup by address and by number.
 */
#define _GNU_SOURCE
#include "shmmap/region.h"

#include "base/thread/cores.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t GRANULE = (size_t)1 << SHMEMI_GRANULE_SHIFT;
static const size_t LEAST_FOR_MAPS = (size_t)64 << 20; /* of a window that had to be made smaller */

struct shmemi_window shmemi_window;

static struct shmemi_region *regions[SHMEMI_REGIONS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects regions and borrowers */
static unsigned borrowers;                               /* requests of other PEs that use a region just now */

static size_t granules_of(size_t size)
{
    return (size + GRANULE - 1) >> SHMEMI_GRANULE_SHIFT;
}

static size_t short_size(size_t size)
{
    return size > SHMEMI_SHORT_BYTES ? size - SHMEMI_SHORT_BYTES : 0;
}

static char *reserve(void *address, size_t size, int flags)
{
    char *reserved = mmap(address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    return reserved == MAP_FAILED ? NULL : reserved;
}

/* More than is needed, of which what lies outside of an aligned range is given back. NULL with errno set. */
static char *reserve_and_cut(size_t size)
{
    char *reserved = reserve(NULL, size + SHMEMI_WINDOW_ALIGNMENT, 0);
    if (!reserved)
        return NULL;
    const size_t before = -(uintptr_t)reserved & (SHMEMI_WINDOW_ALIGNMENT - 1);
    if (before)
        munmap(reserved, before);
    munmap(reserved + before + size, SHMEMI_WINDOW_ALIGNMENT - before);
    return reserved + before;
}

/* A range where the kernel likes to have it, but moved down to an aligned address: nearly always there is room, too.
 * To reserve more and cut it comes last, since it fails where the number of addresses is limited. NULL with errno set. */
static char *reserve_aligned(size_t size)
{
    enum { TRIES = 64 };
    char *reserved = reserve(NULL, size, 0);
    if (!reserved)
        return NULL;
    munmap(reserved, size);
    uintptr_t base = (uintptr_t)reserved & ~((uintptr_t)SHMEMI_WINDOW_ALIGNMENT - 1);
    for (int i = 0; i < TRIES; i++, base -= SHMEMI_WINDOW_ALIGNMENT) {
        reserved = reserve((void *)base, size, MAP_FIXED_NOREPLACE);
        if (reserved == (char *)base)
            return reserved;
        if (reserved) { /* an old kernel, or valgrind, takes the address for a wish */
            munmap(reserved, size);
            break;
        }
    }
    return reserve_and_cut(size);
}

static bool can_reserve(size_t size)
{
    char *address = reserve_aligned(size);
    if (address)
        munmap(address, size);
    return address;
}

/* What of the span the system allows (ulimit -v): all, or a half, a quarter and so on, but then no more than half of
 * what there is, because the program needs addresses, too. least: the heap and a little beside it. */
static size_t allowed_span(size_t span, size_t least)
{
    if (can_reserve(span))
        return span;
    for (span /= 2; span > least; span /= 2)
        if (can_reserve(2 * span))
            return granules_of(span) * GRANULE;
    return least;
}

static int refuse_addresses(size_t size, size_t heap_size)
{
    int rc = -errno;
    shmemi_error(
        "cannot reserve %zu MiB of addresses, for a symmetric heap of %zu MiB and more: %m; raise the limit of "
        "addresses (ulimit -v), or set SHMEM_SYMMETRIC_SIZE to less",
        size >> 20, heap_size >> 20);
    return rc;
}

int shmemi_window_check(size_t heap_size, size_t beside)
{
    const size_t size = heap_size + LEAST_FOR_MAPS + beside;
    return can_reserve(size) ? 0 : refuse_addresses(size, heap_size);
}

int shmemi_window_open(size_t span, size_t heap_size, size_t reserved)
{
    struct shmemi_window *window = &shmemi_window;
    const size_t least = heap_size + LEAST_FOR_MAPS;
    span = granules_of(span) * GRANULE;
    if (span < heap_size + GRANULE) {
        shmemi_error("SHMEM_MAP_WINDOW (%zu MiB) has no room beside the heap (%zu MiB)", span >> 20, heap_size >> 20);
        return -EINVAL;
    }
    if (span > least)
        span = allowed_span(span, least);
    char *address = reserve_aligned(span);
    if (!address)
        return refuse_addresses(span, heap_size);
    size_t table_size = granules_of(span) * sizeof *window->granule;
    void *table = mmap(NULL, table_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED) {
        int rc = refuse_addresses(span + table_size, heap_size);
        munmap(address, span);
        return rc;
    }
    *window = (struct shmemi_window){.base = (uintptr_t)address,
                                     .span = span,
                                     .heap_size = heap_size,
                                     .user_base = (uintptr_t)address + reserved,
                                     .user_size = heap_size - reserved,
                                     .user_short_size = short_size(heap_size - reserved),
                                     .host_floor = shmemi_memory_probe ? UINTPTR_MAX : SHMEMI_FIRST_PAGE_BYTES,
                                     .granule = table,
                                     .table_size = table_size};
    return 0;
}

void shmemi_window_shrink(size_t span)
{
    struct shmemi_window *window = &shmemi_window;
    if (span >= window->span)
        return;
    munmap((char *)window->base + span, window->span - span);
    window->span = span;
}

void shmemi_window_close(void)
{
    struct shmemi_window *window = &shmemi_window;
    if (window->span) {
        munmap((void *)window->base, window->span);
        munmap(window->granule, window->table_size);
    }
    *window = (struct shmemi_window){0};
    memset(regions, 0, sizeof regions);
}

static void enter(struct shmemi_region *region, uint32_t id)
{
    region->id = id;
    region->short_size = short_size(region->size);
    pthread_mutex_lock(&lock);
    regions[id] = region;
    pthread_mutex_unlock(&lock);
}

static void fill_granules(uintptr_t base, size_t size, struct shmemi_region *value)
{
    size_t first = (base - shmemi_window.base) >> SHMEMI_GRANULE_SHIFT;
    for (size_t i = 0; i < granules_of(size); i++)
        shmemi_window.granule[first + i] = value;
}

int shmemi_region_add_heap(struct shmemi_region *region)
{
    region->base = (char *)shmemi_window.base;
    region->size = shmemi_window.heap_size;
    enter(region, SHMEMI_REGION_HEAP);
    fill_granules(shmemi_window.user_base, shmemi_window.user_size, region);
    return 0;
}

int shmemi_region_add_static(struct shmemi_region *region)
{
    enter(region, SHMEMI_REGION_STATIC);
    shmemi_window.static_base = (uintptr_t)region->base;
    shmemi_window.static_size = region->size;
    shmemi_window.static_region = region;
    return 0;
}

/* The first of enough consecutive free granules after the heap; the number of all granules when there are none. */
static size_t find_granules(size_t count)
{
    const size_t all = shmemi_window.span >> SHMEMI_GRANULE_SHIFT;
    size_t first = shmemi_window.heap_size >> SHMEMI_GRANULE_SHIFT;
    for (size_t i = first; i < all && i - first < count; i++)
        if (shmemi_window.granule[i])
            first = i + 1;
    return count <= all - first ? first : all;
}

int shmemi_region_add_mapped(struct shmemi_region *region)
{
    uint32_t id = SHMEMI_REGION_FIRST_MAPPED;
    while (id < SHMEMI_REGIONS_MAX && regions[id])
        id++;
    size_t first = find_granules(granules_of(region->size));
    if (id == SHMEMI_REGIONS_MAX)
        return -EMFILE;
    if (first == shmemi_window.span >> SHMEMI_GRANULE_SHIFT)
        return -ENOSPC;
    region->base = (char *)shmemi_window.base + (first << SHMEMI_GRANULE_SHIFT);
    enter(region, id);
    fill_granules((uintptr_t)region->base, region->size, region);
    return 0;
}

static bool try_forget(uint32_t id)
{
    pthread_mutex_lock(&lock);
    bool idle = !borrowers;
    if (idle)
        regions[id] = NULL;
    pthread_mutex_unlock(&lock);
    return idle;
}

void shmemi_region_remove(struct shmemi_region *region)
{
    if (region->id == SHMEMI_REGION_NONE)
        return;
    if (region == shmemi_window.static_region) {
        shmemi_window.static_size = 0;
        shmemi_window.static_region = NULL;
    } else {
        fill_granules((uintptr_t)region->base, region->size, NULL);
    }
    while (!try_forget(region->id))
        shmemi_yield();
    region->id = SHMEMI_REGION_NONE;
}

void shmemi_region_for_each(bool (*visit)(struct shmemi_region *region, void *argument), void *argument)
{
    for (uint32_t id = 0; id < SHMEMI_REGIONS_MAX; id++)
        if (regions[id] && !visit(regions[id], argument))
            return;
}

struct shmemi_region *shmemi_region_borrow(uint32_t id)
{
    pthread_mutex_lock(&lock);
    struct shmemi_region *region = id < SHMEMI_REGIONS_MAX ? regions[id] : NULL;
    borrowers += !!region;
    pthread_mutex_unlock(&lock);
    return region;
}

void shmemi_region_give_back(void)
{
    pthread_mutex_lock(&lock);
    borrowers--;
    pthread_mutex_unlock(&lock);
}

/* ---- Local addresses --------------------------------------------------------------------------------------------- */

/* This thread's stack. That of the main thread is told with the size to which it may grow, and without a limit that is all
 * the room below it, in which other memory lies, a GPU's, too. */
enum { STACK_MAX = 8 << 20 };
struct stack {
    uintptr_t low;
    size_t size;
};
static _Thread_local struct stack stack __attribute__((tls_model("initial-exec")));

static void find_stack(void)
{
    pthread_attr_t attributes;
    void *low;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return;
    if (!pthread_attr_getstack(&attributes, &low, &stack.size)) {
        const size_t far = stack.size > STACK_MAX ? stack.size - STACK_MAX : 0;
        stack.low = (uintptr_t)low + far;
        stack.size -= far;
    }
    pthread_attr_destroy(&attributes);
}

/* What is above this call in the stack that it runs on is in use, so nothing else lies there. */
static bool is_on_stack(uintptr_t address)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (!stack.size)
        find_stack();
    return here - stack.low < stack.size && address >= here && address - stack.low < stack.size;
}

/* Whether the address must be host memory: static data, this thread's stack, or the memory of small mallocs. This saves
 * a call of the GPU's driver. */
static bool is_certainly_host(uintptr_t address)
{
    if (address - shmemi_window.static_base < shmemi_window.static_size)
        return true;
    if (is_on_stack(address))
        return true;
    /* where no static data is known, nothing is known of what lies below the break */
    return shmemi_window.static_size && address >= shmemi_window.static_base && address < (uintptr_t)sbrk(0);
}

/* Where private memory lies. The page of an address that no kind of GPU memory knows is remembered, unless the program
 * uses no byte there: such a pointer may be left over from memory that a GPU will have again. */
static void place_of_private(const void *address, size_t nbytes, struct shmemi_place *place_p)
{
    enum shmemi_claim claim = SHMEMI_CLAIM_NONE;
    uint64_t changes = shmemi_plain_changes();
    if (is_certainly_host((uintptr_t)address))
        *place_p = shmemi_place_host(address);
    else
        claim = shmemi_memory_locate(address, place_p);
    if (claim == SHMEMI_CLAIM_NONE && nbytes)
        shmemi_plain_remember(address, changes);
}

int shmemi_place_of(const void *address, size_t nbytes, struct shmemi_place *place_p)
{
    uintptr_t window_offset = (uintptr_t)address - shmemi_window.base;
    if (window_offset >= shmemi_window.span) {
        place_of_private(address, nbytes, place_p);
        return 0;
    }
    const struct shmemi_region *region = shmemi_region_of(address);
    size_t offset = region ? (size_t)((const char *)address - region->base) : 0;
    if (!region || !shmemi_region_holds(region, offset, nbytes)) {
        shmemi_error("local address %p + %zu bytes lies in the range of mapped objects, but in no object", address,
                     nbytes);
        return -EFAULT;
    }
    *place_p = region->place;
    place_p->address += offset;
    return 0;
}

struct overlap {
    const struct shmemi_allocation *allocation;
    size_t size;
    const struct shmemi_region *found;
};

static bool overlaps(struct shmemi_region *region, void *argument)
{
    struct overlap *overlap = argument;
    const struct shmemi_allocation *a = overlap->allocation, *b = &region->allocation;
    bool has_ids = a->buffer_id && b->buffer_id;
    if (region->id < SHMEMI_REGION_FIRST_MAPPED || a->place.memory != b->place.memory ||
        (has_ids && a->buffer_id != b->buffer_id))
        return true;
    uintptr_t first = a->place.address, other = b->place.address;
    if (first < other + region->size && other < first + overlap->size)
        overlap->found = region;
    return !overlap->found;
}

bool shmemi_region_is_mapped(const struct shmemi_allocation *allocation, size_t size)
{
    struct overlap overlap = {allocation, size, NULL};
    shmemi_region_for_each(overlaps, &overlap);
    return overlap.found;
}
