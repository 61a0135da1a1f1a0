/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combination of two elements in reductions, for each operation and each kind of number.
 */
#ifndef SHMEMI_COLL_OP_H
#define SHMEMI_COLL_OP_H

#include "gpu/arithmetic.h"

#include <stddef.h>
#include <stdint.h>

/* into = a op b, element by element; into may be a or b itself. */
typedef void (*shmemi_combine_func_t)(void *into, const void *a, const void *b, size_t nelems);

struct shmemi_op {
    shmemi_combine_func_t combine; /* NULL if there is no such operation on this kind */
    size_t size;                   /* of an element */

    /* Sums of numbers of 16 bits are kept as floats while all contributions are added. NULL: others need no such care. */
    void (*widen)(float *into, const void *a, size_t nelems);
    void (*narrow)(void *into, const float *a, size_t nelems);
};

extern const struct shmemi_op shmemi_ops[SHMEMI_OPS][SHMEMI_KINDS];

/* The operation and the kind of an entry of the table. */
static inline enum shmemi_operation shmemi_operation_of(const struct shmemi_op *op)
{
    return (enum shmemi_operation)((op - &shmemi_ops[0][0]) / SHMEMI_KINDS);
}
static inline enum shmemi_kind shmemi_kind_of(const struct shmemi_op *op)
{
    return (enum shmemi_kind)((op - &shmemi_ops[0][0]) % SHMEMI_KINDS);
}

/* The operation that a copy is, if there is a single source: of the largest elements that divide addresses with these
 * bits and lengths. */
static inline const struct shmemi_op *shmemi_op_for_copies(uintptr_t bits)
{
    const enum shmemi_kind kind = bits % 2   ? SHMEMI_KIND_U8
                                  : bits % 4 ? SHMEMI_KIND_U16
                                  : bits % 8 ? SHMEMI_KIND_U32
                                             : SHMEMI_KIND_U64;
    return &shmemi_ops[SHMEMI_OP_or][kind];
}

static inline void shmemi_combine(const struct shmemi_op *op, void *into, const void *a, const void *b, size_t nbytes)
{
    op->combine(into, a, b, nbytes / op->size);
}

/* The kind of an integer type, from its size and sign. */
#define SHMEMI_INTEGER_KIND(TYPE)                                                                                      \
    ((sizeof(TYPE) == 1   ? SHMEMI_KIND_I8                                                                             \
      : sizeof(TYPE) == 2 ? SHMEMI_KIND_I16                                                                            \
      : sizeof(TYPE) == 4 ? SHMEMI_KIND_I32                                                                            \
                          : SHMEMI_KIND_I64) +                                                                         \
     ((TYPE)-1 < (TYPE)1 ? 0 : SHMEMI_KIND_U8 - SHMEMI_KIND_I8))

#define SHMEMI_KIND_OF(TYPE)                                                                                           \
    _Generic((TYPE)0, float                                                                                            \
             : SHMEMI_KIND_F32, double                                                                                 \
             : SHMEMI_KIND_F64, long double                                                                            \
             : SHMEMI_KIND_F80, float _Complex                                                                         \
             : SHMEMI_KIND_C32, double _Complex                                                                        \
             : SHMEMI_KIND_C64, char                                                                                   \
             : SHMEMI_INTEGER_KIND(char), signed char                                                                  \
             : SHMEMI_INTEGER_KIND(signed char), unsigned char                                                         \
             : SHMEMI_INTEGER_KIND(unsigned char), short                                                               \
             : SHMEMI_INTEGER_KIND(short), unsigned short                                                              \
             : SHMEMI_INTEGER_KIND(unsigned short), int                                                                \
             : SHMEMI_INTEGER_KIND(int), unsigned int                                                                  \
             : SHMEMI_INTEGER_KIND(unsigned int), long                                                                 \
             : SHMEMI_INTEGER_KIND(long), unsigned long                                                                \
             : SHMEMI_INTEGER_KIND(unsigned long), long long                                                           \
             : SHMEMI_INTEGER_KIND(long long), unsigned long long                                                      \
             : SHMEMI_INTEGER_KIND(unsigned long long))

#endif
