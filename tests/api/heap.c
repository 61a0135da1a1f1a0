/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory management: equal offsets on all PEs, alignment, zeroing, realloc, exhaustion on all PEs and recovery from it,
 * the state of the heap.
 */
#include "check.h"

#include <shmemx.h>
#include <stdbool.h>

static char *first_block; /* of this PE */
static long static_longs[2];

/* An object is at the same distance from the first one on every PE, and a put through it arrives. */
static void check_symmetric(const char *routine, void *object)
{
    long distance = (long)((char *)object - first_block);
    shmem_barrier_all(); /* its owner may only just have filled it */
    shmem_long_broadcast(SHMEM_TEAM_WORLD, &static_longs[0], &distance, 1, 0);
    CHECK_THAT(static_longs[0] == distance, "%s: offset %ld here, but %ld on PE 0", routine, distance, static_longs[0]);
    shmem_uchar_p(object, (unsigned char)(shmem_my_pe() + 1), check_target(1));
    shmem_barrier_all();
    CHECK_THAT(*(unsigned char *)object == check_origin(1) + 1, "%s: a put to the object has not arrived", routine);
    shmem_barrier_all();
}

static void check_alignment(const char *routine, const void *object, size_t alignment)
{
    CHECK_THAT((uintptr_t)object % alignment == 0, "%s: %p is not aligned to %zu", routine, object, alignment);
}

static void check_malloc_sizes(void)
{
    static const size_t sizes[] = {1, 7, 8, 63, 64, 65, 4095, 4097, 1 << 20, (1 << 20) + 1};
    void *objects[10];
    for (int i = 0; i < 10; i++) {
        objects[i] = check_shmem_malloc(sizes[i]);
        check_alignment("shmem_malloc", objects[i], _Alignof(max_align_t));
        memset(objects[i], i, sizes[i]);
        check_symmetric("shmem_malloc", objects[i]);
        memset(objects[i], i, sizes[i]);
    }
    for (int i = 0; i < 10; i++) {
        check_untouched("shmem_malloc of neighbouring objects", objects[i], sizes[i], (unsigned char)i);
        shmem_free(objects[i]);
    }
    CHECK(shmem_malloc(0) == NULL);
    shmem_free(NULL);
}

static void check_calloc(void)
{
    char *dirty = check_shmem_malloc(100000);
    memset(dirty, 0x5a, 100000);
    shmem_free(dirty);
    char *zeroed = shmem_calloc(1000, 100);
    CHECK(zeroed);
    shmem_barrier_all();
    check_untouched("shmem_calloc", zeroed, 100000, 0);
    check_symmetric("shmem_calloc", zeroed);
    shmem_free(zeroed);
    CHECK(shmem_calloc(0, 8) == NULL);
    CHECK(shmem_calloc(8, 0) == NULL);
    CHECK_THAT(shmem_calloc(SIZE_MAX / 4, 8) == NULL, "shmem_calloc of a size that overflows gave memory");
}

static void check_align(void)
{
    CHECK(shmem_align(0, 100) == NULL);
    CHECK(shmem_align(24, 100) == NULL);
    for (size_t alignment = sizeof(void *); alignment <= (size_t)16 << 20; alignment *= 2) {
        char *object = shmem_align(alignment, 1000);
        CHECK_THAT(object, "shmem_align(%zu, 1000) failed", alignment);
        check_alignment("shmem_align", object, alignment);
        check_symmetric("shmem_align", object);
        shmem_free(object);
    }
}

static void check_realloc(void)
{
    char *object = shmem_realloc(NULL, 5000);
    CHECK(object);
    check_fill(object, 5000, (unsigned)shmem_my_pe());
    char *obstacle = check_shmem_malloc(1000); /* so the object cannot grow in place */
    object = shmem_realloc(object, 2000000);
    CHECK_THAT(object, "shmem_realloc to 2000000 failed");
    check_bytes("shmem_realloc that grows", object, 5000, (unsigned)shmem_my_pe());
    check_symmetric("shmem_realloc", object + 5000);
    object = shmem_realloc(object, 3000000); /* there is free memory after it */
    check_bytes("shmem_realloc in place", object, 5000, (unsigned)shmem_my_pe());
    object = shmem_realloc(object, 300);
    check_bytes("shmem_realloc that shrinks", object, 300, (unsigned)shmem_my_pe());
    CHECK_THAT(shmem_realloc(object, SIZE_MAX / 4) == NULL, "shmem_realloc to more than the heap gave memory");
    check_bytes("shmem_realloc that fails", object, 300, (unsigned)shmem_my_pe());
    CHECK(shmem_realloc(object, 0) == NULL);
    shmem_free(obstacle);
}

static shmemx_heap_info_t state(void)
{
    shmemx_heap_info_t info;
    shmemx_heap_info(&info);
    return info;
}

static void check_info(void)
{
    shmemx_heap_info_t before = state();
    void *object = check_shmem_malloc(100000);
    shmemx_heap_info_t during = state();
    CHECK_THAT(during.size == before.size && during.size > 0, "heap_info: the size of the heap changed");
    CHECK_THAT(during.used >= before.used + 100000 && during.used < before.used + 110000,
               "heap_info: used went from %zu to %zu for 100000 bytes", before.used, during.used);
    shmem_free(object);
    CHECK_THAT(state().used == before.used && state().largest_free == before.largest_free,
               "heap_info: %zu bytes used after free, expected %zu", state().used, before.used);
    CHECK(before.used + before.largest_free <= before.size);
}

/* The heap is full at the same call on all PEs; after freeing, all of it can be allocated again. */
static void check_exhaustion(void)
{
    enum { MOST = 64 };
    void *blocks[MOST];
    shmemx_heap_info_t before = state();
    size_t size = before.largest_free / 10;
    long n = 0;
    while (n < MOST && (blocks[n] = shmem_malloc(size)))
        n++;
    CHECK_THAT(n >= 9 && n <= 10, "shmem_malloc of a tenth of the heap succeeded %ld times", n);
    shmem_long_fcollect(SHMEM_TEAM_WORLD, (long *)first_block, &n, 1);
    for (int pe = 0; pe < shmem_n_pes(); pe++)
        CHECK_THAT(((long *)first_block)[pe] == n, "the heap was full after %ld blocks, but on PE %d after %ld", n, pe,
                   ((long *)first_block)[pe]);
    for (long i = 0; i < n; i += 2)
        shmem_free(blocks[i]);
    for (long i = 1; i < n; i += 2)
        shmem_free(blocks[i]);
    CHECK_THAT(state().used == before.used && state().largest_free == before.largest_free,
               "after freeing everything %zu bytes are used, expected %zu", state().used, before.used);
    void *whole = shmem_malloc(before.largest_free);
    CHECK_THAT(whole, "the largest free block of %zu bytes cannot be had", before.largest_free);
    shmem_free(whole);
}

/* Random calls, the same on all PEs; every block keeps its contents and no two overlap. */
static void check_random_calls(void)
{
    enum { BLOCKS = 50, CALLS = 500 };
    static struct {
        unsigned char *address;
        size_t size;
    } block[BLOCKS];
    unsigned random = 12345;
    for (int call = 0; call < CALLS; call++) {
        random = random * 1103515245u + 12345;
        int i = (int)(random >> 16) % BLOCKS;
        if (block[i].address) {
            check_untouched("random calls", block[i].address, block[i].size, (unsigned char)i);
            shmem_free(block[i].address);
            block[i].address = NULL;
            continue;
        }
        block[i].size = 1 + (random >> 8) % 30000;
        block[i].address = check_shmem_malloc(block[i].size);
        memset(block[i].address, i, block[i].size);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (block[i].address) {
            check_symmetric("random calls", block[i].address);
            shmem_free(block[i].address);
        }
}

int main(void)
{
    shmem_init();
    first_block = check_shmem_malloc((size_t)shmem_n_pes() * sizeof(long));
    check_malloc_sizes();
    check_calloc();
    check_align();
    check_realloc();
    check_info();
    check_random_calls();
    check_exhaustion();
    shmem_free(first_block);
    return check_end();
}
