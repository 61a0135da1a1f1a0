/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The constants and handles of the specification in all places where it allows them: integer constant expressions,
 * static initialisers, values of handles. C99 and C++ compile this file too (symbols.test).
 */
#include "check.h"

#include <pshmem.h>
#include <shmemx.h>

/* An integer constant expression that holds; a negative length refuses to compile. */
#define TRUE_WHEN_COMPILED(name, condition) typedef char name##_holds[(condition) ? 1 : -1] __attribute__((unused))

TRUE_WHEN_COMPILED(thread_levels_rise, SHMEM_THREAD_SINGLE < SHMEM_THREAD_FUNNELED &&
                                           SHMEM_THREAD_FUNNELED < SHMEM_THREAD_SERIALIZED &&
                                           SHMEM_THREAD_SERIALIZED < SHMEM_THREAD_MULTIPLE);
TRUE_WHEN_COMPILED(version, SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION == 6);
TRUE_WHEN_COMPILED(vendor, sizeof SHMEM_VENDOR_STRING <= SHMEM_MAX_NAME_LEN);
TRUE_WHEN_COMPILED(signals, SHMEM_SIGNAL_SET != SHMEM_SIGNAL_ADD);
TRUE_WHEN_COMPILED(reduce_work, SHMEM_REDUCE_MIN_WRKDATA_SIZE > 0);
TRUE_WHEN_COMPILED(sync_size,
                   SHMEM_SYNC_SIZE >= SHMEM_BARRIER_SYNC_SIZE && SHMEM_SYNC_SIZE >= SHMEM_BCAST_SYNC_SIZE &&
                       SHMEM_SYNC_SIZE >= SHMEM_COLLECT_SYNC_SIZE && SHMEM_SYNC_SIZE >= SHMEM_REDUCE_SYNC_SIZE &&
                       SHMEM_SYNC_SIZE >= SHMEM_ALLTOALL_SYNC_SIZE && SHMEM_SYNC_SIZE >= SHMEM_ALLTOALLS_SYNC_SIZE);
TRUE_WHEN_COMPILED(old_sizes, _SHMEM_BARRIER_SYNC_SIZE == SHMEM_BARRIER_SYNC_SIZE &&
                                  _SHMEM_BCAST_SYNC_SIZE == SHMEM_BCAST_SYNC_SIZE &&
                                  _SHMEM_COLLECT_SYNC_SIZE == SHMEM_COLLECT_SYNC_SIZE &&
                                  _SHMEM_REDUCE_SYNC_SIZE == SHMEM_REDUCE_SYNC_SIZE &&
                                  _SHMEM_REDUCE_MIN_WRKDATA_SIZE == SHMEM_REDUCE_MIN_WRKDATA_SIZE &&
                                  _SHMEM_SYNC_VALUE == SHMEM_SYNC_VALUE);
TRUE_WHEN_COMPILED(old_library, _SHMEM_MAJOR_VERSION == SHMEM_MAJOR_VERSION &&
                                    _SHMEM_MINOR_VERSION == SHMEM_MINOR_VERSION &&
                                    _SHMEM_MAX_NAME_LEN == SHMEM_MAX_NAME_LEN &&
                                    sizeof _SHMEM_VENDOR_STRING == sizeof SHMEM_VENDOR_STRING);
TRUE_WHEN_COMPILED(old_comparisons, _SHMEM_CMP_EQ == SHMEM_CMP_EQ && _SHMEM_CMP_NE == SHMEM_CMP_NE &&
                                        _SHMEM_CMP_LT == SHMEM_CMP_LT && _SHMEM_CMP_LE == SHMEM_CMP_LE &&
                                        _SHMEM_CMP_GT == SHMEM_CMP_GT && _SHMEM_CMP_GE == SHMEM_CMP_GE);
TRUE_WHEN_COMPILED(options_are_long,
                   sizeof SHMEM_CTX_SERIALIZED == sizeof(long) && sizeof SHMEM_CTX_PRIVATE == sizeof(long) &&
                       sizeof SHMEM_CTX_NOSTORE == sizeof(long) && sizeof SHMEM_CTX_SESSION_BATCH == sizeof(long) &&
                       sizeof SHMEM_TEAM_NUM_CONTEXTS == sizeof(long));

/* Arrays of these lengths with these initial values [9.10]. */
static long barrier_words[SHMEM_BARRIER_SYNC_SIZE] = {SHMEM_SYNC_VALUE};
static long reduce_words[_SHMEM_REDUCE_SYNC_SIZE] = {_SHMEM_SYNC_VALUE};
static double work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];

/* Handles initialise static objects [7]. */
static shmem_team_t teams[] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_SHARED, SHMEM_TEAM_INVALID};
static shmem_ctx_t contexts[] = {SHMEM_CTX_DEFAULT, SHMEM_CTX_INVALID};
static shmem_team_config_t config = {3};
static shmem_ctx_session_config_t session_config = {SIZE_MAX};

/* Comparisons are different cases of a switch. */
static int compare(int cmp, long a, long b)
{
    switch (cmp) {
    case SHMEM_CMP_EQ:
        return a == b;
    case SHMEM_CMP_NE:
        return a != b;
    case SHMEM_CMP_GT:
        return a > b;
    case SHMEM_CMP_GE:
        return a >= b;
    case SHMEM_CMP_LT:
        return a < b;
    case SHMEM_CMP_LE:
        return a <= b;
    }
    return -1;
}

static void check_bits(void)
{
    const long context_options[] = {SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE};
    const long hints[] = {SHMEM_MALLOC_ATOMICS_REMOTE, SHMEM_MALLOC_SIGNAL_REMOTE};
    CHECK((context_options[0] & context_options[1]) == 0 && (context_options[0] & context_options[2]) == 0 &&
          (context_options[1] & context_options[2]) == 0);
    CHECK(context_options[0] && context_options[1] && context_options[2]);
    CHECK(hints[0] && hints[1] && (hints[0] & hints[1]) == 0);
    CHECK(SHMEM_CTX_SESSION_TOTAL_OPS != 0 && SHMEM_CTX_SESSION_BATCH != 0 && SHMEM_TEAM_NUM_CONTEXTS != 0);
}

static void check_handles(void)
{
    CHECK(teams[0] == SHMEM_TEAM_WORLD && teams[1] == SHMEM_TEAM_SHARED && teams[2] == SHMEM_TEAM_INVALID);
    CHECK(teams[0] != teams[1] && teams[0] != teams[2] && teams[1] != teams[2]);
    CHECK(contexts[0] == SHMEM_CTX_DEFAULT && contexts[1] == SHMEM_CTX_INVALID && contexts[0] != contexts[1]);
    CHECK(config.num_contexts == 3 && session_config.total_ops == SIZE_MAX);
}

static void check_comparisons(void)
{
    static long word = 5;
    const int all[] = {SHMEM_CMP_EQ, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_GE, SHMEM_CMP_LT, SHMEM_CMP_LE};
    for (int i = 0; i < 6; i++)
        for (long value = 4; value <= 6; value++)
            CHECK(!!shmem_long_test(&word, all[i], value) == compare(all[i], 5, value));
}

int main(void)
{
    shmem_init();
    check_bits();
    check_handles();
    check_comparisons();
    CHECK(barrier_words[0] == SHMEM_SYNC_VALUE && reduce_words[0] == SHMEM_SYNC_VALUE);
    CHECK(sizeof work / sizeof work[0] == SHMEM_REDUCE_MIN_WRKDATA_SIZE);
    CHECK(!strcmp(SHMEM_VENDOR_STRING, _SHMEM_VENDOR_STRING));
    return check_end();
}
