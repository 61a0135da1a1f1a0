/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wrappers of waits and tests, and of signals of this PE: who has seen a value learns what its writers knew.
 */
#include "race/calls/wrapped_call.h"

RACE_WRAPPER uint64_t shmem_signal_fetch(const uint64_t *sig_addr)
{
    RACE_BEGIN("shmem_signal_fetch", SHMEM_CTX_DEFAULT);
    const uint64_t value = pshmem_signal_fetch(sig_addr);
    race_waited(&call, sig_addr, sizeof *sig_addr);
    race_call_end(&call);
    return value;
}

RACE_WRAPPER uint64_t shmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    RACE_BEGIN("shmem_signal_wait_until", SHMEM_CTX_DEFAULT);
    const uint64_t value = pshmem_signal_wait_until(sig_addr, cmp, cmp_value);
    race_waited(&call, sig_addr, sizeof *sig_addr);
    race_call_end(&call);
    return value;
}

#define WRAP_WAIT(NAME, TYPE, ...)                                                                                     \
    RACE_WRAPPER void shmem_##NAME##_wait_until(TYPE *ivar, int cmp, TYPE cmp_value)                                   \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #NAME "_wait_until", SHMEM_CTX_DEFAULT);                                                   \
        pshmem_##NAME##_wait_until(ivar, cmp, cmp_value);                                                              \
        race_waited(&call, ivar, sizeof *ivar);                                                                        \
        race_call_end(&call);                                                                                          \
    }                                                                                                                  \
    RACE_WRAPPER int shmem_##NAME##_test(TYPE *ivar, int cmp, TYPE cmp_value)                                          \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #NAME "_test", SHMEM_CTX_DEFAULT);                                                         \
        const int holds = pshmem_##NAME##_test(ivar, cmp, cmp_value);                                                  \
        if (holds)                                                                                                     \
            race_waited(&call, ivar, sizeof *ivar);                                                                    \
        race_call_end(&call);                                                                                          \
        return holds;                                                                                                  \
    }

SHMEMI_FOR_AMO_TYPES(WRAP_WAIT, )

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
SHMEMI_FOR_SHORT_TYPES(WRAP_WAIT, )

RACE_WRAPPER void shmem_wait_until(long *ivar, int cmp, long cmp_value)
{
    RACE_BEGIN("shmem_wait_until", SHMEM_CTX_DEFAULT);
    pshmem_wait_until(ivar, cmp, cmp_value);
    race_waited(&call, ivar, sizeof *ivar);
    race_call_end(&call);
}

#define WRAP_OLD_WAIT(NAME, TYPE)                                                                                      \
    RACE_WRAPPER void shmem_##NAME(TYPE *ivar, TYPE cmp_value)                                                         \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #NAME, SHMEM_CTX_DEFAULT);                                                                 \
        pshmem_##NAME(ivar, cmp_value);                                                                                \
        race_waited(&call, ivar, sizeof *ivar);                                                                        \
        race_call_end(&call);                                                                                          \
    }
WRAP_OLD_WAIT(wait, long)
WRAP_OLD_WAIT(short_wait, short)
WRAP_OLD_WAIT(int_wait, int)
WRAP_OLD_WAIT(long_wait, long)
WRAP_OLD_WAIT(longlong_wait, long long)

/* ---- several words ------------------------------------------------------------------------------------------------ */

static void waited_for_all(struct race_call *call, const void *words, size_t size, size_t n, const int *status)
{
    for (size_t i = 0; i < n; i++)
        if (!status || !status[i])
            race_waited(call, (const char *)words + i * size, size);
}

static void waited_for_one(struct race_call *call, const void *words, size_t size, size_t index)
{
    if (index != SIZE_MAX)
        race_waited(call, (const char *)words + index * size, size);
}

static void waited_for_some(struct race_call *call, const void *words, size_t size, size_t n, const size_t *indices)
{
    for (size_t i = 0; i < n && n != SIZE_MAX; i++)
        waited_for_one(call, words, size, indices[i]);
}

#define WRAP_ANY_AND_SOME(NAME, TYPE, VERB, SUFFIX, COMPARED, PASSED)                                                  \
    RACE_WRAPPER size_t shmem_##NAME##_##VERB##_any##SUFFIX(TYPE *ivars, size_t nelems, const int *status, int cmp,    \
                                                            COMPARED PASSED)                                           \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #NAME "_" #VERB "_any" #SUFFIX, SHMEM_CTX_DEFAULT);                                        \
        const size_t index = pshmem_##NAME##_##VERB##_any##SUFFIX(ivars, nelems, status, cmp, PASSED);                 \
        waited_for_one(&call, ivars, sizeof *ivars, index);                                                            \
        race_call_end(&call);                                                                                          \
        return index;                                                                                                  \
    }                                                                                                                  \
    RACE_WRAPPER size_t shmem_##NAME##_##VERB##_some##SUFFIX(TYPE *ivars, size_t nelems, size_t *indices,              \
                                                             const int *status, int cmp, COMPARED PASSED)              \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #NAME "_" #VERB "_some" #SUFFIX, SHMEM_CTX_DEFAULT);                                       \
        const size_t n = pshmem_##NAME##_##VERB##_some##SUFFIX(ivars, nelems, indices, status, cmp, PASSED);           \
        waited_for_some(&call, ivars, sizeof *ivars, n, indices);                                                      \
        race_call_end(&call);                                                                                          \
        return n;                                                                                                      \
    }
#define WRAP_WAIT_ALL(NAME, TYPE, SUFFIX, COMPARED, PASSED)                                                            \
    RACE_WRAPPER void shmem_##NAME##_wait_until_all##SUFFIX(TYPE *ivars, size_t nelems, const int *status, int cmp,    \
                                                            COMPARED PASSED)                                           \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #NAME "_wait_until_all" #SUFFIX, SHMEM_CTX_DEFAULT);                                       \
        pshmem_##NAME##_wait_until_all##SUFFIX(ivars, nelems, status, cmp, PASSED);                                    \
        waited_for_all(&call, ivars, sizeof *ivars, nelems, status);                                                   \
        race_call_end(&call);                                                                                          \
    }                                                                                                                  \
    RACE_WRAPPER int shmem_##NAME##_test_all##SUFFIX(TYPE *ivars, size_t nelems, const int *status, int cmp,           \
                                                     COMPARED PASSED)                                                  \
    {                                                                                                                  \
        RACE_BEGIN("shmem_" #NAME "_test_all" #SUFFIX, SHMEM_CTX_DEFAULT);                                             \
        const int holds = pshmem_##NAME##_test_all##SUFFIX(ivars, nelems, status, cmp, PASSED);                        \
        if (holds)                                                                                                     \
            waited_for_all(&call, ivars, sizeof *ivars, nelems, status);                                               \
        race_call_end(&call);                                                                                          \
        return holds;                                                                                                  \
    }
#define WRAP_SETS(NAME, TYPE, ...)                                                                                     \
    WRAP_ANY_AND_SOME(NAME, TYPE, wait_until, , TYPE, cmp_value)                                                       \
    WRAP_ANY_AND_SOME(NAME, TYPE, wait_until, _vector, const TYPE *, cmp_values)                                       \
    WRAP_ANY_AND_SOME(NAME, TYPE, test, , TYPE, cmp_value)                                                             \
    WRAP_ANY_AND_SOME(NAME, TYPE, test, _vector, const TYPE *, cmp_values)                                             \
    WRAP_WAIT_ALL(NAME, TYPE, , TYPE, cmp_value)                                                                       \
    WRAP_WAIT_ALL(NAME, TYPE, _vector, const TYPE *, cmp_values)

SHMEMI_FOR_AMO_TYPES(WRAP_SETS, )
