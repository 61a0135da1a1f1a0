/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kinds of numbers, and the operations with which reductions combine them. Plain C that nvcc reads too.
 */
#ifndef SHMEMI_ARITHMETIC_H
#define SHMEMI_ARITHMETIC_H

/* KIND(name, ...): types with the same representation are one kind. F16 and BF16 have 16 bits (gpu/half_floats.h); their sums
 * are kept as floats, and rounded once. Devices do not know F80, which is x86's long double. */
#define SHMEMI_FOR_DEVICE_KINDS(KIND, ...)                                                                             \
    KIND(I8, __VA_ARGS__)                                                                                              \
    KIND(I16, __VA_ARGS__)                                                                                             \
    KIND(I32, __VA_ARGS__)                                                                                             \
    KIND(I64, __VA_ARGS__)                                                                                             \
    KIND(U8, __VA_ARGS__)                                                                                              \
    KIND(U16, __VA_ARGS__)                                                                                             \
    KIND(U32, __VA_ARGS__)                                                                                             \
    KIND(U64, __VA_ARGS__)                                                                                             \
    KIND(F32, __VA_ARGS__)                                                                                             \
    KIND(F64, __VA_ARGS__)                                                                                             \
    KIND(C32, __VA_ARGS__)                                                                                             \
    KIND(C64, __VA_ARGS__)                                                                                             \
    KIND(F16, __VA_ARGS__)                                                                                             \
    KIND(BF16, __VA_ARGS__)
#define SHMEMI_FOR_KINDS(KIND, ...)                                                                                    \
    SHMEMI_FOR_DEVICE_KINDS(KIND, __VA_ARGS__)                                                                         \
    KIND(F80, __VA_ARGS__)

enum shmemi_kind {
#define KIND(name, ...) SHMEMI_KIND_##name,
    SHMEMI_FOR_KINDS(KIND, )
#undef KIND
        SHMEMI_KINDS
};

enum shmemi_operation {
    SHMEMI_OP_and,
    SHMEMI_OP_or,
    SHMEMI_OP_xor,
    SHMEMI_OP_max,
    SHMEMI_OP_min,
    SHMEMI_OP_sum,
    SHMEMI_OP_prod,
    SHMEMI_OPS
};

/* Which results are stored when the arrays a, b, c, ... are combined from left to right. */
enum shmemi_combine_form {
    SHMEMI_COMBINE_ALL,       /* a op b op c to every dest */
    SHMEMI_COMBINE_INCLUSIVE, /* prefixes: a to the first dest, a op b to the second, ... */
    SHMEMI_COMBINE_EXCLUSIVE, /* 0 to the first dest, a to the second, a op b to the third, ... */
};

enum { SHMEMI_COMBINE_ARRAYS = 64 }; /* most sources, and most dests */

#endif
