/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The test of typed and strided transfers, atomic operations and waits on streams and queues. on_stream.c and on_queue.c
 * include it, once each, after they have defined
 *
 *     ON(NAME, lane, ...)        shmemx_NAME_on_stream or _on_queue
 *     ON_ALONE(NAME, lane)       the same of a routine without arguments
 *     batch_begin(lane)          what is enqueued from here on in the lane
 *     batch_end(lane)            has been carried out; a graph may be made of it
 *
 * Each step works in the mapped object and, where a graph need not be able to, in the heap.
 */
#ifndef ON_TYPED_H
#define ON_TYPED_H

#include "on_check.h"

enum { SLOT = 16, SLOTS = 1024, AREA = SLOT * SLOTS, TYPED_AREAS = 6 }; /* a value or word in each slot */

static char typed_copy[TYPED_AREAS][AREA]; /* of the host: what an area holds, or shall hold */

/* Where an area is, in the mapped object or in the heap. */
struct typed {
    char *base;
    bool is_mapped;
    int next, previous, me;
};

static char *area_of(const struct typed *t, int area)
{
    return t->base + (size_t)area * AREA;
}

static void *slot_of(const struct typed *t, int area, int slot)
{
    return area_of(t, area) + (size_t)slot * SLOT;
}

static void *copied_slot(int area, int slot)
{
    return typed_copy[area] + (size_t)slot * SLOT;
}

/* Collective. */
static void write_areas(const struct typed *t)
{
    shmem_barrier_all();
    if (t->is_mapped)
        device_write(on_device, on_buffer, ON_DATA, typed_copy, sizeof typed_copy);
    else
        memcpy(t->base, typed_copy, sizeof typed_copy);
    shmem_barrier_all();
}

static void read_areas(const struct typed *t)
{
    shmem_barrier_all();
    if (t->is_mapped)
        device_read(on_device, typed_copy, on_buffer, ON_DATA, sizeof typed_copy);
    else
        memcpy(typed_copy, t->base, sizeof typed_copy);
    shmem_barrier_all();
}

static void clear_areas(const struct typed *t)
{
    memset(typed_copy, 0, sizeof typed_copy);
    write_areas(t);
}

/* ---- Strided and contiguous transfers ---------------------------------------------------------------------------- */

enum {
    SOURCE,
    PUT_TO,
    GOT_TO,
    ELEMENTS = 40,
    DEST_STRIDE = 3,
    SOURCE_STRIDE = 2,
    SIZES = 5,
    PART = AREA / SIZES / 16 * 16
};

static char pattern(size_t i, int pe)
{
    return (char)(i * 7 + i / 256 + (size_t)pe * 31 + 1);
}

static void check_elements(const char *what, const char *found, size_t at, size_t size, size_t dest_stride,
                           size_t source_stride, int pe)
{
    for (size_t e = 0; e < ELEMENTS; e++)
        for (size_t i = 0; i < size; i++)
            CHECK_THAT(found[e * dest_stride * size + i] == pattern(at + e * source_stride * size + i, pe),
                       "%s of %zu bytes: element %zu is wrong", what, size, e);
}

#define MOVE_STRIDED(BITS, BYTES, ...)                                                                                 \
    ON(iput##BITS, lane, area_of(t, PUT_TO) + at, area_of(t, SOURCE) + at, DEST_STRIDE, SOURCE_STRIDE, ELEMENTS,       \
       t->next);                                                                                                       \
    ON(iget##BITS, lane, area_of(t, GOT_TO) + at, area_of(t, SOURCE) + at, SOURCE_STRIDE, DEST_STRIDE, ELEMENTS,       \
       t->next);                                                                                                       \
    at += PART;
#define CHECK_STRIDED(BITS, BYTES, ...)                                                                                \
    check_elements("iput", typed_copy[PUT_TO] + at, at, BYTES, DEST_STRIDE, SOURCE_STRIDE, t->previous);               \
    check_elements("iget", typed_copy[GOT_TO] + at, at, BYTES, SOURCE_STRIDE, DEST_STRIDE, t->next);                   \
    at += PART;

static void check_strided(const struct typed *t, int lane)
{
    size_t at = 0;
    memset(typed_copy, 0, sizeof typed_copy);
    for (size_t i = 0; i < AREA; i++)
        typed_copy[SOURCE][i] = pattern(i, t->me);
    write_areas(t);
    batch_begin(lane);
    SHMEMI_FOR_SIZES(MOVE_STRIDED, )
    ON(double_iput, lane, (double *)area_of(t, 3), (double *)area_of(t, SOURCE), 1, 1, ELEMENTS, t->next);
    ON(int_put, lane, (int *)area_of(t, 4), (int *)area_of(t, SOURCE), ELEMENTS, t->next);
    ON(get64, lane, area_of(t, 5), area_of(t, SOURCE), ELEMENTS, t->next);
    ON(iput32, lane, area_of(t, 5), area_of(t, SOURCE), 2, 2, 0, t->next);
    ON_ALONE(quiet, lane);
    batch_end(lane);
    read_areas(t);
    at = 0;
    SHMEMI_FOR_SIZES(CHECK_STRIDED, )
    check_elements("dense iput", typed_copy[3], 0, sizeof(double), 1, 1, t->previous);
    check_elements("put", typed_copy[4], 0, sizeof(int), 1, 1, t->previous);
    check_elements("get", typed_copy[5], 0, 8, 1, 1, t->next);
}

/* ---- Single values ----------------------------------------------------------------------------------------------- */

#define KEEP_VALUE(NAME, TYPE, ...)                                                                                    \
    *(TYPE *)copied_slot(SOURCE, i) = (TYPE)(i + 2 * t->me);                                                           \
    i++;
#define MOVE_VALUE(NAME, TYPE, ...)                                                                                    \
    ON(NAME##_p, lane, (TYPE *)slot_of(t, PUT_TO, i), (TYPE)(i + 3 * t->me), t->next);                                 \
    ON(NAME##_g, lane, (TYPE *)slot_of(t, GOT_TO, i), (TYPE *)slot_of(t, SOURCE, i), t->next);                         \
    i++;
#define CHECK_VALUE(NAME, TYPE, ...)                                                                                   \
    CHECK(*(TYPE *)copied_slot(PUT_TO, i) == (TYPE)(i + 3 * t->previous));                                             \
    CHECK(*(TYPE *)copied_slot(GOT_TO, i) == (TYPE)(i + 2 * t->next));                                                 \
    i++;

static void check_values(const struct typed *t, int lane)
{
    int i = 0;
    memset(typed_copy, 0, sizeof typed_copy);
    SHMEMI_FOR_RMA_TYPES(KEEP_VALUE, )
    write_areas(t);
    i = 0;
    batch_begin(lane);
    SHMEMI_FOR_RMA_TYPES(MOVE_VALUE, )
    ON_ALONE(quiet, lane);
    batch_end(lane);
    read_areas(t);
    i = 0;
    SHMEMI_FOR_RMA_TYPES(CHECK_VALUE, )
}

/* ---- Atomic operations ------------------------------------------------------------------------------------------- */

enum { WORDS, OLD, OLDS = 8 };

/* The old values of a type begin at slot OLDS * i. */
#define UPDATE_ANY(NAME, TYPE, ...)                                                                                    \
    {                                                                                                                  \
        TYPE *word = slot_of(t, WORDS, i);                                                                             \
        ON(NAME##_atomic_set, lane, word, (TYPE)5, t->next);                                                           \
        ON_ALONE(fence, lane);                                                                                         \
        ON(NAME##_atomic_fetch, lane, (TYPE *)slot_of(t, OLD, OLDS *i), word, t->next);                                \
        ON(NAME##_atomic_swap, lane, (TYPE *)slot_of(t, OLD, OLDS *i + 1), word, (TYPE)6, t->next);                    \
        i++;                                                                                                           \
    }
#define CHECK_ANY(NAME, TYPE, ...)                                                                                     \
    CHECK(*(TYPE *)copied_slot(OLD, OLDS *i) == (TYPE)5);                                                              \
    CHECK(*(TYPE *)copied_slot(OLD, OLDS *i + 1) == (TYPE)5);                                                          \
    CHECK(*(TYPE *)copied_slot(WORDS, i) == (TYPE)6);                                                                  \
    i++;
#define UPDATE_SUM(NAME, TYPE, ...)                                                                                    \
    {                                                                                                                  \
        TYPE *word = slot_of(t, WORDS, i);                                                                             \
        ON(NAME##_atomic_add, lane, word, (TYPE)7, t->next);                                                           \
        ON(NAME##_atomic_inc, lane, word, t->next);                                                                    \
        ON_ALONE(fence, lane);                                                                                         \
        ON(NAME##_atomic_fetch_add, lane, (TYPE *)slot_of(t, OLD, OLDS *i), word, (TYPE)-3, t->next);                  \
        ON(NAME##_atomic_fetch_inc, lane, (TYPE *)slot_of(t, OLD, OLDS *i + 1), word, t->next);                        \
        ON(NAME##_atomic_compare_swap, lane, (TYPE *)slot_of(t, OLD, OLDS *i + 2), word, (TYPE)6, (TYPE)-9, t->next);  \
        ON(NAME##_atomic_compare_swap, lane, (TYPE *)slot_of(t, OLD, OLDS *i + 3), word, (TYPE)6, (TYPE)1, t->next);   \
        i++;                                                                                                           \
    }
#define CHECK_SUM(NAME, TYPE, ...)                                                                                     \
    CHECK(*(TYPE *)copied_slot(OLD, OLDS *i) == (TYPE)8);                                                              \
    CHECK(*(TYPE *)copied_slot(OLD, OLDS *i + 1) == (TYPE)5);                                                          \
    CHECK(*(TYPE *)copied_slot(OLD, OLDS *i + 2) == (TYPE)6);                                                          \
    CHECK(*(TYPE *)copied_slot(OLD, OLDS *i + 3) == (TYPE)-9);                                                         \
    CHECK(*(TYPE *)copied_slot(WORDS, i) == (TYPE)-9);                                                                 \
    i++;
#define UPDATE_BITS(NAME, TYPE, ...)                                                                                   \
    {                                                                                                                  \
        TYPE *word = slot_of(t, WORDS, i);                                                                             \
        ON(NAME##_atomic_or, lane, word, (TYPE)0x7f, t->next);                                                         \
        ON_ALONE(fence, lane);                                                                                         \
        ON(NAME##_atomic_and, lane, word, (TYPE)0x3d, t->next);                                                        \
        ON_ALONE(fence, lane);                                                                                         \
        ON(NAME##_atomic_xor, lane, word, (TYPE)0x11, t->next);                                                        \
        ON_ALONE(fence, lane);                                                                                         \
        ON(NAME##_atomic_fetch_or, lane, (TYPE *)slot_of(t, OLD, OLDS *i), word, (TYPE)0x100, t->next);                \
        ON(NAME##_atomic_fetch_and, lane, (TYPE *)slot_of(t, OLD, OLDS *i + 1), word, (TYPE)0x10c, t->next);           \
        ON(NAME##_atomic_fetch_xor, lane, (TYPE *)slot_of(t, OLD, OLDS *i + 2), word, (TYPE)0x104, t->next);           \
        i++;                                                                                                           \
    }
#define CHECK_BITS(NAME, TYPE, ...)                                                                                    \
    CHECK(*(TYPE *)copied_slot(OLD, OLDS *i) == (TYPE)0x2c);                                                           \
    CHECK(*(TYPE *)copied_slot(OLD, OLDS *i + 1) == (TYPE)0x12c);                                                      \
    CHECK(*(TYPE *)copied_slot(OLD, OLDS *i + 2) == (TYPE)0x10c);                                                      \
    CHECK(*(TYPE *)copied_slot(WORDS, i) == (TYPE)0x8);                                                                \
    i++;
#define CHECK_UPDATES(TYPES, UPDATE, RESULT)                                                                           \
    do {                                                                                                               \
        int i = 0;                                                                                                     \
        clear_areas(t);                                                                                                \
        batch_begin(lane);                                                                                             \
        TYPES(UPDATE, )                                                                                                \
        ON_ALONE(quiet, lane);                                                                                         \
        batch_end(lane);                                                                                               \
        read_areas(t);                                                                                                 \
        i = 0;                                                                                                         \
        TYPES(RESULT, )                                                                                                \
    } while (0)

static void check_updates(const struct typed *t, int lane)
{
    CHECK_UPDATES(SHMEMI_FOR_XAMO_TYPES, UPDATE_ANY, CHECK_ANY);
    CHECK_UPDATES(SHMEMI_FOR_AMO_TYPES, UPDATE_SUM, CHECK_SUM);
    CHECK_UPDATES(SHMEMI_FOR_BAMO_TYPES, UPDATE_BITS, CHECK_BITS);
}

/* All PEs and both lanes add to one word of PE 0, on streams and by ordinary calls. */
static void check_sum(const struct typed *t)
{
    enum { ROUNDS = 20 };
    long *word = slot_of(t, WORDS, 0);
    clear_areas(t);
    for (int i = 0; i < ROUNDS; i++) {
        for (int lane = 0; lane < ON_LANES; lane++)
            ON(long_atomic_fetch_add, lane, (long *)slot_of(t, OLD, lane), word, 2, 0);
        ON(long_atomic_inc, i % ON_LANES, word, 0);
        shmem_long_atomic_add(word, 10, 0);
    }
    for (int lane = 0; lane < ON_LANES; lane++) {
        ON_ALONE(quiet, lane);
        on_finish(lane);
    }
    read_areas(t);
    if (t->me == 0)
        CHECK_THAT(*(long *)copied_slot(WORDS, 0) == 15L * ROUNDS * shmem_n_pes(), "the sum is %ld",
                   *(long *)copied_slot(WORDS, 0));
}

/* ---- Waits ------------------------------------------------------------------------------------------------------- */

enum { FEW = 20, MANY = 100 };

/* Of n words, neighbours in area 0, the PE before sets all but number `last`, which is left out; area 1 gets the number
 * of one that is found, where the others are left out. */
static void check_word_sets(const struct typed *t, int lane, size_t n, int cmp)
{
    static int status[MANY], only_third[MANY];
    int32_t *words = (int32_t *)area_of(t, WORDS), value = cmp == SHMEM_CMP_LT ? -5 : 5;
    const int32_t bound = cmp == SHMEM_CMP_LT ? -4 : cmp == SHMEM_CMP_NE ? 4 : 5;
    int64_t *long_words = (int64_t *)area_of(t, 2);
    size_t *index = (size_t *)area_of(t, OLD);
    for (size_t i = 0; i < MANY; i++) {
        status[i] = i == n - 1;
        only_third[i] = i != 3;
    }
    clear_areas(t);
    batch_begin(lane);
    for (size_t i = 0; i + 1 < n; i++)
        ON(int32_p, lane, words + i, value, t->next);
    ON(int64_p, lane, long_words + 3, value, t->next);
    ON_ALONE(quiet, lane);
    ON(int32_wait_until_all, lane, words, n, status, cmp, bound);
    ON(int32_wait_until_any, lane, index, words, n, only_third, cmp, bound);
    ON(int64_wait_until_any, lane, index + 1, long_words, n, NULL, SHMEM_CMP_NE, 0);
    ON(int64_wait_until_any, lane, index + 2, long_words, 0, NULL, SHMEM_CMP_NE, 0);
    ON(int64_wait_until_all, lane, long_words, 0, NULL, SHMEM_CMP_NE, 0);
    ON(int64_wait_until, lane, long_words + 3, cmp, bound);
    batch_end(lane);
    read_areas(t);
    index = (size_t *)(void *)typed_copy[OLD];
    CHECK(((int32_t *)(void *)typed_copy[WORDS])[n - 2] == value);
    CHECK(index[0] == 3 && index[1] == 3 && index[2] == SIZE_MAX);
}

/* The signal of the PE before is taken away, each time the batch is carried out. */
static void check_taking(const struct typed *t, int lane)
{
    uint64_t *signals = (uint64_t *)area_of(t, WORDS), *seen = (uint64_t *)area_of(t, OLD);
    clear_areas(t);
    batch_begin(lane);
    for (int half = 0; half < 4; half++) {
        ON(double_put_signal, lane, (double *)area_of(t, 3) + half, (double *)area_of(t, 2), 1, signals + half, 1,
           SHMEM_SIGNAL_SET, t->next);
        ON(signal_wait_until, lane, signals + half, SHMEM_CMP_GE, 1);
        ON(signal_fetch, lane, seen + half, signals + half);
        ON(signal_wait_until_set, lane, signals + half, SHMEM_CMP_EQ, 1, half == 3 ? 4 : 0);
    }
    batch_end(lane);
    read_areas(t);
    for (int half = 0; half < 4; half++) {
        CHECK(((uint64_t *)(void *)typed_copy[WORDS])[half] == (half == 3 ? 4 : 0));
        CHECK(((uint64_t *)(void *)typed_copy[OLD])[half] == 1);
    }
}

/* ---- All --------------------------------------------------------------------------------------------------------- */

/* has_updates: of words in this memory, by a graph if batches are made of them. */
static void check_typed_in(const struct typed *t, bool has_updates)
{
    check_strided(t, 0);
    check_values(t, 1);
    if (has_updates)
        check_updates(t, 0);
    check_word_sets(t, 0, FEW, SHMEM_CMP_EQ);
    check_word_sets(t, 1, FEW, SHMEM_CMP_NE);
    check_word_sets(t, 0, MANY, SHMEM_CMP_GE);
    check_word_sets(t, 1, FEW, SHMEM_CMP_LT);
    check_taking(t, 0);
}

static struct typed typed_at(char *base, bool is_mapped)
{
    return (struct typed){base, is_mapped, check_target(1), check_origin(1), shmem_my_pe()};
}

static void check_typed(char *map)
{
    char *heap = check_shmem_malloc(sizeof typed_copy);
    const struct typed mapped = typed_at(map + ON_DATA, true), in_heap = typed_at(heap, false);
    check_typed_in(&mapped, true);
    check_typed_in(&in_heap, true);
    check_sum(&mapped);
    check_sum(&in_heap);
    shmem_free(heap);
}

#endif
