/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Point-to-point synchronisation [9.11].
 */
#include "shmem/internal.h"

void shmemi_check_local_word(const char *routine, const void *address)
{
    struct shmemi_region *region = shmemi_region_of(address);
    if (region && region->place.memory != &shmemi_memory_host)
        shmemi_fatal("%s: %p is mapped %s memory, on which waiting is not supported", routine, address,
                     shmemi_memory_type_name(region->place.memory->type));
}

/* A word of 4 or 8 bytes that others update, compared as what it is. */
struct word {
    const char *routine;
    const void *address;
    unsigned size;
    bool is_signed;
};

static uint64_t load(const struct word *word)
{
    if (word->size == 8)
        return __atomic_load_n((const uint64_t *)word->address, __ATOMIC_ACQUIRE);
    uint32_t value = __atomic_load_n((const uint32_t *)word->address, __ATOMIC_ACQUIRE);
    return word->is_signed ? (uint64_t)(int64_t)(int32_t)value : value;
}

/* -1, 0 or 1. */
static int order(const struct word *word, uint64_t a, uint64_t b)
{
    if (word->is_signed)
        return ((int64_t)a > (int64_t)b) - ((int64_t)a < (int64_t)b);
    return (a > b) - (a < b);
}

static bool holds(const struct word *word, uint64_t value, int cmp, uint64_t cmp_value)
{
    int relation = order(word, value, cmp_value);
    switch (cmp) {
    case SHMEM_CMP_EQ:
        return relation == 0;
    case SHMEM_CMP_NE:
        return relation != 0;
    case SHMEM_CMP_GT:
        return relation > 0;
    case SHMEM_CMP_GE:
        return relation >= 0;
    case SHMEM_CMP_LT:
        return relation < 0;
    case SHMEM_CMP_LE:
        return relation <= 0;
    }
    shmemi_fatal("%s: %d is not a comparison (SHMEM_CMP_*)", word->routine, cmp);
}

/* Returns the value that satisfied the condition. */
static uint64_t wait_until(const struct word *word, int cmp, uint64_t cmp_value)
{
    unsigned spins = 0;
    shmemi_check_local_word(word->routine, word->address);
    for (;;) {
        uint64_t value = load(word);
        if (holds(word, value, cmp, cmp_value))
            return value;
        shmemi_progress(&spins);
    }
}

static int test(const struct word *word, int cmp, uint64_t cmp_value)
{
    unsigned spins = 0;
    shmemi_check_local_word(word->routine, word->address);
    if (holds(word, load(word), cmp, cmp_value))
        return 1;
    shmemi_progress(&spins);
    return 0;
}

SHMEMI_API(uint64_t, signal_wait_until, (uint64_t *sig_addr, int cmp, uint64_t cmp_value))
{
    struct word word = {"shmem_signal_wait_until", sig_addr, sizeof *sig_addr, false};
    return wait_until(&word, cmp, cmp_value);
}

/* Sign extension of the value follows from its type. */
/* clang-format off */
#define WORD(NAME, TYPE) (&(struct word){"shmem_" #NAME, ivar, sizeof(TYPE), (TYPE)-1 < (TYPE)1})

#define DEFINE_TYPE(NAME, TYPE, ...)                                                                                   \
    SHMEMI_API(void, NAME##_wait_until, (TYPE *ivar, int cmp, TYPE cmp_value))                                         \
    { wait_until(WORD(NAME##_wait_until, TYPE), cmp, (uint64_t)cmp_value); }                                           \
    SHMEMI_API(int, NAME##_test, (TYPE *ivar, int cmp, TYPE cmp_value))                                                \
    { return test(WORD(NAME##_test, TYPE), cmp, (uint64_t)cmp_value); }
/* clang-format on */

SHMEMI_FOR_AMO_TYPES(DEFINE_TYPE, )
