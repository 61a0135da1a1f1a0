/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Atomic operations and signals on mapped GPU memory: results of every operation, neighbours left alone, exact sums
 * while all PEs work on the same words, the owner among them, and payloads that have arrived when their signal has.
 * Contents are written and read through the vendor's API.
 */
#include "check.h"
#include "map_check.h"

#include <shmemx.h>

enum { HAMMER = 60, WORDS = 16, PAYLOAD = 5000 };

static const uint64_t NEIGHBOUR = 0x1122334455667788u;

/* A mapped object and the buffer behind it. */
struct object {
    struct device *device;
    void *buffer;
    uint64_t *words; /* its symmetric address */
};

static struct object make(struct device *device, size_t nbytes)
{
    struct object object = {.device = device, .buffer = device_alloc(device, nbytes)};
    object.words = shmmap(object.buffer, nbytes, device->ops->memtype);
    CHECK_THAT(object.words, "shmmap of %zu bytes: %s", nbytes, shmemx_strerror());
    return object;
}

static void discard(const struct object *object)
{
    shmem_barrier_all();
    shmumap(object->words);
    device_free(object->device, object->buffer);
}

static void reset(const struct object *object, uint64_t value)
{
    uint64_t words[WORDS];
    for (int i = 0; i < WORDS; i++)
        words[i] = value;
    device_write(object->device, object->buffer, 0, words, sizeof words);
    shmem_barrier_all();
}

static void check_word(const struct object *object, const char *what, int index, uint64_t expected)
{
    uint64_t words[WORDS];
    device_read(object->device, words, object->buffer, 0, sizeof words);
    CHECK_THAT(words[index] == expected, "%s %s: word %d is %#llx, expected %#llx", object->device->ops->name, what,
               index, (unsigned long long)words[index], (unsigned long long)expected);
}

/* ---- Each operation alone ---------------------------------------------------------------------------------------- */

static void expect(const char *what, uint64_t found, uint64_t expected)
{
    CHECK_THAT(found == expected, "%s: %#llx, expected %#llx", what, (unsigned long long)found,
               (unsigned long long)expected);
}

static void check_long_words(uint64_t *word, int pe)
{
    const uint64_t first = 0x8000000180000001u;
    uint64_t old = 0;
    shmem_uint64_atomic_set(word, first, pe);
    shmem_fence();
    expect("fetch", shmem_uint64_atomic_fetch(word, pe), first);
    expect("fetch_add", shmem_uint64_atomic_fetch_add(word, 0x80000000u, pe), first);
    expect("swap", shmem_uint64_atomic_swap(word, 5, pe), first + 0x80000000u);
    expect("compare_swap, equal", shmem_uint64_atomic_compare_swap(word, 5, 6, pe), 5);
    expect("compare_swap, different", shmem_uint64_atomic_compare_swap(word, 5, 7, pe), 6);
    expect("fetch_or", shmem_uint64_atomic_fetch_or(word, 9, pe), 6);
    expect("fetch_and", shmem_uint64_atomic_fetch_and(word, 13, pe), 15);
    expect("fetch_xor", shmem_uint64_atomic_fetch_xor(word, first, pe), 13);
    shmem_uint64_atomic_fetch_inc_nbi(&old, word, pe);
    shmem_quiet();
    expect("fetch_inc_nbi", old, first ^ 13);
    shmem_uint64_atomic_inc(word, pe);
    shmem_quiet();
    expect("inc", shmem_uint64_atomic_fetch(word, pe), (first ^ 13) + 2);
}

/* The other half of the 8 bytes is unchanged. */
static void check_short_words(uint32_t *word, int pe)
{
    uint32_t old = 0;
    shmem_uint32_atomic_set(word, 0xffffffffu, pe);
    shmem_fence();
    expect("32 bits, fetch_add over the end", shmem_uint32_atomic_fetch_add(word, 3, pe), 0xffffffffu);
    expect("32 bits, compare_swap", shmem_uint32_atomic_compare_swap(word, 2, 40, pe), 2);
    shmem_uint32_atomic_swap_nbi(&old, word, 50, pe);
    shmem_quiet();
    expect("32 bits, swap_nbi", old, 40);
    shmem_uint32_atomic_xor(word, 3, pe);
    shmem_quiet();
    expect("32 bits, xor", shmem_uint32_atomic_fetch(word, pe), 49);
}

static void check_numbers(double *word, float *half, int pe)
{
    shmem_double_atomic_set(word, -0.125, pe);
    shmem_float_atomic_set(half, 3.5f, pe);
    shmem_fence();
    CHECK(shmem_double_atomic_swap(word, 1e300, pe) == -0.125);
    CHECK(shmem_double_atomic_fetch(word, pe) == 1e300);
    CHECK(shmem_float_atomic_swap(half, -2.25f, pe) == 3.5f);
    CHECK(shmem_float_atomic_fetch(half, pe) == -2.25f);
}

static void check_operations(const struct object *object)
{
    for (int round = 0; round < shmem_n_pes(); round++) {
        int pe = check_target(round);
        float minus = -2.25f;
        uint64_t upper = NEIGHBOUR;
        reset(object, NEIGHBOUR);
        check_long_words(&object->words[1], pe);
        check_short_words((uint32_t *)&object->words[3] + 1, pe);
        check_numbers((double *)&object->words[5], (float *)&object->words[7], pe);
        shmem_barrier_all();
        for (int i = 0; i < 9; i += 2)
            check_word(object, "beside the operations", i, NEIGHBOUR);
        memcpy((char *)&upper + 4, &(uint32_t){49}, 4);
        check_word(object, "upper half", 3, upper);
        upper = NEIGHBOUR;
        memcpy(&upper, &minus, sizeof minus);
        check_word(object, "lower half", 7, upper);
        shmem_barrier_all();
    }
}

/* ---- All at once ------------------------------------------------------------------------------------------------- */

enum { ADDED = 0, FETCHED = 2, SWAPPED = 4, SMALL = 6, BITS = 8, TICKETS = 10 };

/* Add 1 as often as it takes. */
static void add_by_compare_swap(uint64_t *word, int pe)
{
    uint64_t seen = 0, expected;
    do {
        expected = seen;
        seen = shmem_uint64_atomic_compare_swap(word, expected, expected + 1, pe);
    } while (seen != expected);
}

static uint64_t hammer(uint64_t *words, int pe)
{
    uint64_t sum = 0, tickets[2];
    for (int i = 0; i < HAMMER; i++) {
        shmem_uint64_atomic_add(&words[ADDED], 3, pe);
        sum += shmem_uint64_atomic_fetch_inc(&words[FETCHED], pe);
        shmem_uint32_atomic_inc((uint32_t *)&words[SMALL], pe);
        shmem_uint64_atomic_xor(&words[BITS], (uint64_t)1 << shmem_my_pe(), pe);
        if (i % 8 == 0)
            add_by_compare_swap(&words[SWAPPED], pe);
        for (int k = 0; k < 2; k++)
            shmem_uint64_atomic_fetch_add_nbi(&tickets[k], &words[TICKETS], 1, pe);
        shmem_quiet();
        sum += tickets[0] + tickets[1];
    }
    return sum;
}

/* All PEs work on every PE's words; each value of a word was fetched exactly once. */
static void check_sums(const struct object *object)
{
    static uint64_t mine, all;
    const uint64_t n = (uint64_t)shmem_n_pes(), updates = n * HAMMER, tickets = 2 * updates;
    reset(object, 0);
    mine = 0;
    for (int round = 0; round < shmem_n_pes(); round++)
        mine += hammer(object->words, check_target(round));
    shmem_barrier_all();
    check_word(object, "sum", ADDED, 3 * updates);
    check_word(object, "fetched sum", FETCHED, updates);
    check_word(object, "sum by compare_swap", SWAPPED, n * ((HAMMER + 7) / 8));
    check_word(object, "sum of 32 bits", SMALL, updates);
    check_word(object, "bits", BITS, HAMMER % 2 ? ((uint64_t)1 << n) - 1 : 0);
    check_word(object, "nonblocking sum", TICKETS, tickets);
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
    expect("sum of all values fetched", all, n * (updates * (updates - 1) / 2 + tickets * (tickets - 1) / 2));
    shmem_barrier_all();
}

/* All PEs use only PE 0's word, to provoke conflicts. */
static void check_one_word(const struct object *object)
{
    reset(object, 0);
    for (int i = 0; i < 4 * HAMMER; i++)
        if (i % 2)
            shmem_uint64_atomic_inc(&object->words[ADDED], 0);
        else
            (void)shmem_uint64_atomic_fetch_inc(&object->words[ADDED], 0);
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        check_word(object, "sum on one word", ADDED, (uint64_t)shmem_n_pes() * 4 * HAMMER);
    shmem_barrier_all();
}

/* ---- Signals ----------------------------------------------------------------------------------------------------- */

/* The signal lies in mapped memory as well: the owner reads it with a fetch of its own. */
static void check_signals(const struct object *words, const struct object *payload)
{
    uint8_t *bytes = (uint8_t *)payload->words, *sent = check_malloc(PAYLOAD), *found = check_malloc(PAYLOAD);
    reset(words, 0);
    for (unsigned round = 1; round <= 20; round++) {
        check_fill(sent, PAYLOAD, (unsigned)shmem_my_pe() + round);
        shmem_putmem_signal(bytes, sent, PAYLOAD, words->words, 1, SHMEM_SIGNAL_ADD, check_target(1));
        while (shmem_uint64_atomic_fetch(words->words, shmem_my_pe()) < round)
            continue;
        device_read(payload->device, found, payload->buffer, 0, PAYLOAD);
        check_bytes("payload of a signal in mapped memory", found, PAYLOAD, (unsigned)check_origin(1) + round);
        shmem_barrier_all();
    }
    free(sent);
    free(found);
}

static bool check_kind(const struct device_ops *kind)
{
    struct device *device = map_open_device(kind);
    if (!device)
        return false;
    struct object words = make(device, WORDS * sizeof(uint64_t)), payload = make(device, PAYLOAD);
    check_operations(&words);
    check_sums(&words);
    check_one_word(&words);
    check_signals(&words, &payload);
    discard(&payload);
    discard(&words);
    return true;
}

int main(void)
{
    shmem_init();
    bool opencl = check_kind(&device_opencl_ops), cuda = check_kind(&device_cuda_ops);
    if (opencl || cuda)
        return check_end();
    if (shmem_my_pe() == 0)
        printf("%s, %s\n", device_opencl_ops.absent, device_cuda_ops.absent);
    shmem_finalize();
    return CHECK_SKIP;
}
