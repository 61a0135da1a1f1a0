/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wrappers of the atomic operations and waits on streams and queues.
 */
#include "race/streams/stream_calls.h"

#define WRAP(NAME, PARAMETERS, PASSED, ...) RACE_WRAP_ENQUEUED(void, , NAME, PARAMETERS, PASSED, __VA_ARGS__)

/* 1.5 is 1 in types that have no fractions. */
#define FLAGS(TYPE, WRITES) ((uint8_t)(((TYPE)1.5 != (TYPE)1 ? RACE_FLOATING : 0) | ((WRITES) ? RACE_WRITE : 0)))

/* PARAMETERS and PASSED: the operands between the word and pe. */
#define WRAP_UPDATE(NAME, TYPE, PARAMETERS, PASSED)                                                                    \
    WRAP(NAME, (TYPE * dest, RACE_UNPACK PARAMETERS int pe, ), (dest, RACE_UNPACK PASSED pe, ),                        \
         .begin = race_begin_amo, .dest = dest, .dest_size = sizeof *dest, .flags = FLAGS(TYPE, true), .pe = pe)
#define WRAP_FETCH(NAME, TYPE, WORD, WRITES, PARAMETERS, PASSED)                                                       \
    WRAP(NAME, (TYPE * fetch, WORD * dest, RACE_UNPACK PARAMETERS int pe, ), (fetch, dest, RACE_UNPACK PASSED pe, ),   \
         .begin = race_begin_fetch, .end = race_end_fetch, .dest = fetch, .dest_size = sizeof *fetch, .source = dest,  \
         .source_size = sizeof *dest, .flags = FLAGS(TYPE, WRITES), .pe = pe)

#define WRAP_XAMO(NAME, TYPE, ...)                                                                                     \
    WRAP_FETCH(NAME##_atomic_fetch, TYPE, const TYPE, false, (), ())                                                   \
    WRAP_FETCH(NAME##_atomic_swap, TYPE, TYPE, true, (TYPE value, ), (value, ))                                        \
    WRAP_UPDATE(NAME##_atomic_set, TYPE, (TYPE value, ), (value, ))

#define WRAP_AMO(NAME, TYPE, ...)                                                                                      \
    WRAP_FETCH(NAME##_atomic_compare_swap, TYPE, TYPE, true, (TYPE cond, TYPE value, ), (cond, value, ))               \
    WRAP_FETCH(NAME##_atomic_fetch_inc, TYPE, TYPE, true, (), ())                                                      \
    WRAP_FETCH(NAME##_atomic_fetch_add, TYPE, TYPE, true, (TYPE value, ), (value, ))                                   \
    WRAP_UPDATE(NAME##_atomic_inc, TYPE, (), ())                                                                       \
    WRAP_UPDATE(NAME##_atomic_add, TYPE, (TYPE value, ), (value, ))

#define WRAP_BITWISE(NAME, TYPE, OP)                                                                                   \
    WRAP_FETCH(NAME##_atomic_fetch_##OP, TYPE, TYPE, true, (TYPE value, ), (value, ))                                  \
    WRAP_UPDATE(NAME##_atomic_##OP, TYPE, (TYPE value, ), (value, ))

SHMEMI_FOR_XAMO_TYPES(WRAP_XAMO, )
SHMEMI_FOR_AMO_TYPES(WRAP_AMO, )
SHMEMI_FOR_BAMO_TYPES(WRAP_BITWISE, and)
SHMEMI_FOR_BAMO_TYPES(WRAP_BITWISE, or)
SHMEMI_FOR_BAMO_TYPES(WRAP_BITWISE, xor)

/* Words that the status leaves out are looked at as well: what is learned from them is more order than there is. */
#define WRAP_WAITS(NAME, TYPE, ...)                                                                                    \
    WRAP(NAME##_wait_until, (TYPE * ivar, int cmp, TYPE cmp_value, ), (ivar, cmp, cmp_value, ), .end = race_end_wait,  \
         .source = ivar, .source_size = sizeof *ivar, .n = 1)                                                          \
    WRAP(NAME##_wait_until_all, (TYPE * ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value, ),           \
         (ivars, nelems, status, cmp, cmp_value, ), .end = race_end_wait, .source = ivars,                             \
         .source_size = sizeof *ivars, .n = nelems)                                                                    \
    WRAP(NAME##_wait_until_any,                                                                                        \
         (size_t * index, TYPE * ivars, size_t nelems, const int *status, int cmp, TYPE cmp_value, ),                  \
         (index, ivars, nelems, status, cmp, cmp_value, ), .begin = race_begin_wait, .end = race_end_wait,             \
         .dest = index, .dest_size = sizeof *index, .source = ivars, .source_size = sizeof *ivars, .n = nelems)
SHMEMI_FOR_AMO_TYPES(WRAP_WAITS, )
