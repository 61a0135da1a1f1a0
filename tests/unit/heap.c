/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The allocator of the symmetric heap: alignment, best fit, merging, resizing in place, determinism, a long random
 * sequence against a map of who owns which byte, and what happens when there is no memory for the bookkeeping.
 */
#include "shmmap/heap.h"

#include "base/log.h"
#include "base/system/cache_line.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

enum { HEAP = 1 << 20, RESERVED = 1000, UNIT = SHMEMI_CACHE_LINE };

static struct shmemi_heap_state state_of(const struct shmemi_heap *heap)
{
    struct shmemi_heap_state state;
    shmemi_heap_state(heap, &state);
    return state;
}

/* SIZE_MAX when there is no room. */
static size_t allocate_aligned(struct shmemi_heap *heap, size_t size, size_t alignment)
{
    size_t offset = SIZE_MAX;
    int rc = shmemi_heap_allocate(heap, size, alignment, &offset);
    CHECK(offset == SIZE_MAX ? rc == -ENOSPC : rc == 0);
    return offset;
}

static size_t allocate(struct shmemi_heap *heap, size_t size)
{
    size_t offset = allocate_aligned(heap, size, 16);
    CHECK(offset != SIZE_MAX);
    return offset;
}

static void check_empty(const struct shmemi_heap *heap)
{
    struct shmemi_heap_state state = state_of(heap);
    CHECK(state.used == 0 && state.largest_free == state.size);
}

static void check_basics(void)
{
    struct shmemi_heap *heap = shmemi_heap_create(HEAP, RESERVED, 0);
    CHECK(heap);
    check_empty(heap);
    CHECK(state_of(heap).size <= HEAP - RESERVED && state_of(heap).size > HEAP - RESERVED - 2 * UNIT);
    size_t a = allocate(heap, UNIT + 36), b = allocate(heap, 1);
    CHECK(a >= RESERVED && b >= a + UNIT + 36);
    CHECK(a % UNIT == 0 && b % UNIT == 0); /* two objects never share a cache line */
    CHECK(shmemi_heap_size_at(heap, a) == UNIT + 36 && shmemi_heap_size_at(heap, b) == 1);
    CHECK(shmemi_heap_size_at(heap, a + UNIT) == 0 && shmemi_heap_size_at(heap, 0) == 0);
    CHECK(shmemi_heap_release(heap, a + UNIT) == -EINVAL);
    CHECK(shmemi_heap_release(heap, a) == 0);
    CHECK(shmemi_heap_release(heap, a) == -EINVAL);
    CHECK(shmemi_heap_release(heap, b) == 0);
    check_empty(heap);
    shmemi_heap_destroy(heap);
    shmemi_heap_destroy(NULL);
}

static void check_alignment(void)
{
    struct shmemi_heap *heap = shmemi_heap_create(HEAP, RESERVED, 0);
    size_t offset[20], n = 0;
    for (size_t alignment = 1; alignment <= HEAP / 4; alignment *= 2) {
        offset[n] = allocate_aligned(heap, 40, alignment);
        CHECK(offset[n] != SIZE_MAX && offset[n] % alignment == 0);
        n++;
    }
    CHECK(allocate_aligned(heap, 40, (size_t)HEAP * 2) == SIZE_MAX);
    while (n)
        CHECK(shmemi_heap_release(heap, offset[--n]) == 0);
    check_empty(heap);
    shmemi_heap_destroy(heap);
}

static void check_limits(void)
{
    struct shmemi_heap *heap = shmemi_heap_create(HEAP, RESERVED, 0);
    size_t whole = state_of(heap).largest_free;
    CHECK(allocate_aligned(heap, whole + 1, 16) == SIZE_MAX);
    CHECK(allocate_aligned(heap, SIZE_MAX, 16) == SIZE_MAX);
    CHECK(allocate_aligned(heap, SIZE_MAX - 63, 16) == SIZE_MAX);
    CHECK(allocate_aligned(heap, 0, 16) == SIZE_MAX);
    size_t all = allocate(heap, whole);
    CHECK(state_of(heap).largest_free == 0 && state_of(heap).used == whole);
    CHECK(allocate_aligned(heap, 1, 16) == SIZE_MAX);
    CHECK(shmemi_heap_release(heap, all) == 0);
    check_empty(heap);
    shmemi_heap_destroy(heap);
}

/* The smallest hole that fits is taken, not the first. */
static void check_best_fit(void)
{
    struct shmemi_heap *heap = shmemi_heap_create(HEAP, 0, 0);
    size_t large = allocate(heap, 10000), wall = allocate(heap, UNIT), small = allocate(heap, 1000);
    size_t wall2 = allocate(heap, UNIT);
    shmemi_heap_release(heap, large);
    shmemi_heap_release(heap, small);
    CHECK(allocate(heap, 900) == small);
    CHECK(allocate(heap, 9000) == large);
    CHECK(shmemi_heap_release(heap, wall) == 0 && shmemi_heap_release(heap, wall2) == 0);
    shmemi_heap_destroy(heap);
}

/* Whatever the order of release, neighbours become one block again. */
static void check_merging(void)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int i = 0; i < 6; i++) {
        struct shmemi_heap *heap = shmemi_heap_create(HEAP, 0, 0);
        size_t offset[3];
        for (int k = 0; k < 3; k++)
            offset[k] = allocate(heap, 5000);
        for (int k = 0; k < 3; k++)
            CHECK(shmemi_heap_release(heap, offset[orders[i][k]]) == 0);
        check_empty(heap);
        shmemi_heap_destroy(heap);
    }
}

static void check_resize(void)
{
    struct shmemi_heap *heap = shmemi_heap_create(HEAP, 0, 0);
    size_t a = allocate(heap, 1000), b = allocate(heap, 1000), c = allocate(heap, 1000);
    CHECK(shmemi_heap_resize(heap, a, 1024) == 0); /* within the block */
    CHECK(shmemi_heap_resize(heap, a, 1025) == -ENOSPC && shmemi_heap_size_at(heap, a) == 1024);
    CHECK(shmemi_heap_release(heap, b) == 0);
    CHECK(shmemi_heap_resize(heap, a, 2048) == 0 && shmemi_heap_size_at(heap, a) == 2048);
    CHECK(shmemi_heap_resize(heap, a, 2049) == -ENOSPC);
    CHECK(shmemi_heap_resize(heap, a, 10) == 0 && shmemi_heap_size_at(heap, a) == 10);
    CHECK(allocate(heap, 1900) == a + UNIT); /* the rest of the block is free */
    CHECK(shmemi_heap_resize(heap, a, 0) == -ENOSPC && shmemi_heap_resize(heap, a, SIZE_MAX) == -ENOSPC);
    CHECK(shmemi_heap_resize(heap, c + UNIT, 10) == -ENOSPC);
    CHECK(shmemi_heap_release(heap, a) == 0 && shmemi_heap_release(heap, a + UNIT) == 0);
    CHECK(shmemi_heap_release(heap, c) == 0);
    check_empty(heap);
    shmemi_heap_destroy(heap);
}

/* ---- random calls ------------------------------------------------------------------------------------------------ */

enum { BLOCKS = 200, CALLS = 20000 };

struct model {
    struct shmemi_heap *heap;
    size_t offset[BLOCKS], size[BLOCKS]; /* size 0: no block */
    unsigned char owned[HEAP];           /* 1 + number of the block */
};

static void own(struct model *model, int i, unsigned char from, unsigned char to)
{
    for (size_t k = 0; k < model->size[i]; k++) {
        CHECK(model->owned[model->offset[i] + k] == from);
        model->owned[model->offset[i] + k] = to;
    }
}

static void random_allocate(struct model *model, int i, unsigned random)
{
    size_t size = 1 + (random >> 3) % (random % 7 ? 3000 : 60000), alignment = (size_t)16 << random % 9;
    size_t largest = state_of(model->heap).largest_free;
    size_t offset = allocate_aligned(model->heap, size, alignment);
    if (offset == SIZE_MAX) {
        CHECK(size + alignment + UNIT > largest); /* otherwise there would have been room */
        return;
    }
    CHECK(offset % alignment == 0 && offset + size <= HEAP);
    model->offset[i] = offset;
    model->size[i] = size;
    own(model, i, 0, (unsigned char)(i + 1));
}

static void random_resize(struct model *model, int i, unsigned random)
{
    size_t size = 1 + random % 5000;
    if (shmemi_heap_resize(model->heap, model->offset[i], size))
        return;
    own(model, i, (unsigned char)(i + 1), 0);
    model->size[i] = size;
    own(model, i, 0, (unsigned char)(i + 1));
}

static void random_call(struct model *model, unsigned random)
{
    int i = (int)(random >> 20) % BLOCKS;
    if (!model->size[i]) {
        random_allocate(model, i, random);
    } else if (random % 4 == 0) {
        random_resize(model, i, random >> 2);
    } else {
        own(model, i, (unsigned char)(i + 1), 0);
        CHECK(shmemi_heap_release(model->heap, model->offset[i]) == 0);
        model->size[i] = 0;
    }
}

/* Two heaps, the same calls: the same offsets. */
static void check_random(void)
{
    static struct model one, other;
    uint32_t random = 2463534242u;
    one.heap = shmemi_heap_create(HEAP, RESERVED, 0);
    other.heap = shmemi_heap_create(HEAP, RESERVED, 0);
    for (int call = 0; call < CALLS; call++) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        random_call(&one, random);
        random_call(&other, random);
    }
    CHECK(!memcmp(one.offset, other.offset, sizeof one.offset) && !memcmp(one.size, other.size, sizeof one.size));
    for (int i = 0; i < BLOCKS; i++)
        if (one.size[i])
            CHECK(shmemi_heap_release(one.heap, one.offset[i]) == 0);
    check_empty(one.heap);
    shmemi_heap_destroy(one.heap);
    shmemi_heap_destroy(other.heap); /* with blocks in use */
}

/* ---- out of memory ----------------------------------------------------------------------------------------------- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

static long failing = -1; /* number of the memory allocation that fails, 0: the next one; negative: none */

void *__wrap_malloc(size_t size)
{
    return failing-- == 0 ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return failing-- == 0 ? NULL : __real_calloc(count, size);
}

/* Allocate blocks with padding before them until the table of used blocks has grown; the k-th allocation of
 * memory fails. Returns whether it came to that. */
static bool fill_with_failure(long k)
{
    enum { N = 500 };
    static size_t offset[N];
    int n = 0;
    failing = k;
    struct shmemi_heap *heap = shmemi_heap_create(HEAP, RESERVED, 0);
    for (int i = 0; heap && i < N; i++) {
        struct shmemi_heap_state before = state_of(heap), after;
        int rc = shmemi_heap_allocate(heap, UNIT, 256, &offset[n]);
        CHECK(rc == 0 || rc == -ENOMEM);
        after = state_of(heap);
        CHECK(rc == 0 || !memcmp(&before, &after, sizeof before));
        n += !rc;
    }
    bool has_failed = failing < 0;
    failing = -1;
    while (n)
        CHECK(shmemi_heap_release(heap, offset[--n]) == 0);
    if (heap)
        check_empty(heap);
    shmemi_heap_destroy(heap);
    return has_failed;
}

/* A block that cannot be cut keeps its room, and the caller is told: the other PEs' heaps have been cut. */
static void resize_with_failure(void)
{
    struct shmemi_heap *heap = shmemi_heap_create(HEAP, RESERVED, 0);
    size_t offset;
    CHECK(!shmemi_heap_allocate(heap, 1024, 64, &offset));
    failing = 0;
    CHECK(shmemi_heap_resize(heap, offset, UNIT) == -ENOMEM);
    failing = -1;
    CHECK(!shmemi_heap_resize(heap, offset, UNIT) && !shmemi_heap_release(heap, offset));
    check_empty(heap);
    shmemi_heap_destroy(heap);
}

/* Whichever allocation of memory fails, the heap is whole afterwards. */
static void check_out_of_memory(void)
{
    shmemi_log_hold(true);
    resize_with_failure();
    for (long k = 0; fill_with_failure(k); k++)
        ;
    shmemi_log_hold(false);
}

int main(void)
{
    check_basics();
    check_alignment();
    check_limits();
    check_best_fit();
    check_merging();
    check_resize();
    check_random();
    check_out_of_memory();
    return 0;
}
