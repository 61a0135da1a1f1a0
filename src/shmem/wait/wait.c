/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Point-to-point synchronisation [9.11]: the public routines.
 */
#include "shmem/wait/set.h"

/* clang-format off */

/* -1 is less than 1 only in signed types. Conversion to uint64_t extends by sign or zeros as the type requires. */
#define SET(ROUTINE, TYPE, IVARS, NELEMS, STATUS, ...)                                                                 \
    (&(const struct shmemi_wait_set){.routine = "shmem_" #ROUTINE, .ivars = IVARS, .nelems = NELEMS, .status = STATUS, \
                                     .size = sizeof(TYPE), .is_signed = (TYPE)-1 < (TYPE)1, .cmp = cmp, __VA_ARGS__})
#define WORD(ROUTINE, TYPE) SET(ROUTINE, TYPE, ivar, 1, NULL, .value = (uint64_t)cmp_value)
#define ONE_VALUE(ROUTINE, TYPE) SET(ROUTINE, TYPE, ivars, nelems, status, .value = (uint64_t)cmp_value)
#define OWN_VALUES(ROUTINE, TYPE) SET(ROUTINE, TYPE, ivars, nelems, status, .has_values = true, .values = cmp_values)

/* ---- One word ---------------------------------------------------------------------------------------------------- */

SHMEMI_API(uint64_t, signal_wait_until, (uint64_t *ivar, int cmp, uint64_t cmp_value))
{ return shmemi_wait_word(WORD(signal_wait_until, uint64_t)); }

#define DEFINE_WORD(NAME, TYPE, ...)                                                                                   \
    SHMEMI_API(void, NAME##_wait_until, (TYPE *ivar, int cmp, TYPE cmp_value))                                         \
    { shmemi_wait_word(WORD(NAME##_wait_until, TYPE)); }                                                               \
    SHMEMI_API(int, NAME##_test, (TYPE *ivar, int cmp, TYPE cmp_value))                                                \
    { return shmemi_test_all(WORD(NAME##_test, TYPE)); }
SHMEMI_FOR_AMO_TYPES(DEFINE_WORD, )
SHMEMI_FOR_SHORT_TYPES(DEFINE_WORD, )

/* ---- Deprecated names -------------------------------------------------------------------------------------------- */

SHMEMI_API(void, wait_until, (long *ivar, int cmp, long cmp_value))
{ shmemi_wait_word(WORD(wait_until, long)); }

#define DEFINE_WAIT(ROUTINE, TYPE)                                                                                     \
    SHMEMI_API(void, ROUTINE, (TYPE *ivar, TYPE cmp_value))                                                            \
    { enum { cmp = SHMEM_CMP_NE }; shmemi_wait_word(WORD(ROUTINE, TYPE)); }
DEFINE_WAIT(wait, long)
DEFINE_WAIT(short_wait, short)
DEFINE_WAIT(int_wait, int)
DEFINE_WAIT(long_wait, long)
DEFINE_WAIT(longlong_wait, long long)

/* ---- Sets of words ----------------------------------------------------------------------------------------------- */

/* VECTOR: the end of the name; VALUE: the parameter with the values; SET_OF: the set that the parameters describe. */
#define DEFINE_FORMS(NAME, TYPE, VECTOR, VALUE, SET_OF)                                                                \
    SHMEMI_API(void, NAME##_wait_until_all##VECTOR, (TYPE *ivars, size_t nelems, const int *status, int cmp, VALUE))   \
    { shmemi_wait_all(SET_OF(NAME##_wait_until_all##VECTOR, TYPE)); }                                                  \
    SHMEMI_API(size_t, NAME##_wait_until_any##VECTOR, (TYPE *ivars, size_t nelems, const int *status, int cmp, VALUE)) \
    { return shmemi_wait_any(SET_OF(NAME##_wait_until_any##VECTOR, TYPE)); }                                           \
    SHMEMI_API(size_t, NAME##_wait_until_some##VECTOR, (TYPE *ivars, size_t nelems, size_t *indices,                   \
                                                        const int *status, int cmp, VALUE))                            \
    { return shmemi_wait_some(SET_OF(NAME##_wait_until_some##VECTOR, TYPE), indices); }                                \
    SHMEMI_API(int, NAME##_test_all##VECTOR, (TYPE *ivars, size_t nelems, const int *status, int cmp, VALUE))          \
    { return shmemi_test_all(SET_OF(NAME##_test_all##VECTOR, TYPE)); }                                                 \
    SHMEMI_API(size_t, NAME##_test_any##VECTOR, (TYPE *ivars, size_t nelems, const int *status, int cmp, VALUE))       \
    { return shmemi_test_any(SET_OF(NAME##_test_any##VECTOR, TYPE)); }                                                 \
    SHMEMI_API(size_t, NAME##_test_some##VECTOR, (TYPE *ivars, size_t nelems, size_t *indices, const int *status,      \
                                                  int cmp, VALUE))                                                     \
    { return shmemi_test_some(SET_OF(NAME##_test_some##VECTOR, TYPE), indices); }
#define DEFINE_SETS(NAME, TYPE, ...)                                                                                   \
    DEFINE_FORMS(NAME, TYPE, , TYPE cmp_value, ONE_VALUE)                                                              \
    DEFINE_FORMS(NAME, TYPE, _vector, const TYPE *cmp_values, OWN_VALUES)

SHMEMI_FOR_AMO_TYPES(DEFINE_SETS, )

/* clang-format on */
