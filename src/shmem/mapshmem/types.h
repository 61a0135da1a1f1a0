/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The types of the generic forms. TYPENAMEs of the same C type (int64 and long, where long has 64 bits) would be the
 * same case twice, so each C type appears once, under one of them. Included by generic.h and overloads.h; not for direct
 * use.
 *
 * X(TYPENAME, TYPE, ...), as the lists in shmem.h.
 */
#ifndef SHMEMI_TYPES_H
#define SHMEMI_TYPES_H

#define SHMEMI_FOR_C_UNSIGNED_TYPES(X, ...)                                                                            \
    X(uint, unsigned int, __VA_ARGS__)                                                                                 \
    X(ulong, unsigned long, __VA_ARGS__)                                                                               \
    X(ulonglong, unsigned long long, __VA_ARGS__)
#define SHMEMI_FOR_C_AMO_TYPES(X, ...)                                                                                 \
    SHMEMI_FOR_C_UNSIGNED_TYPES(X, __VA_ARGS__)                                                                        \
    SHMEMI_FOR_OLD_AMO_TYPES(X, __VA_ARGS__)
#define SHMEMI_FOR_C_XAMO_TYPES(X, ...)                                                                                \
    X(float, float, __VA_ARGS__)                                                                                       \
    X(double, double, __VA_ARGS__)                                                                                     \
    SHMEMI_FOR_C_AMO_TYPES(X, __VA_ARGS__)
#define SHMEMI_FOR_C_BAMO_TYPES(X, ...)                                                                                \
    SHMEMI_FOR_C_UNSIGNED_TYPES(X, __VA_ARGS__)                                                                        \
    X(int32, int32_t, __VA_ARGS__)                                                                                     \
    X(int64, int64_t, __VA_ARGS__)
#define SHMEMI_FOR_C_WAIT_TYPES(X, ...)                                                                                \
    SHMEMI_FOR_SHORT_TYPES(X, __VA_ARGS__)                                                                             \
    SHMEMI_FOR_C_AMO_TYPES(X, __VA_ARGS__)
#define SHMEMI_FOR_C_RMA_TYPES(X, ...)                                                                                 \
    X(longdouble, long double, __VA_ARGS__)                                                                            \
    X(char, char, __VA_ARGS__)                                                                                         \
    X(schar, signed char, __VA_ARGS__)                                                                                 \
    X(uchar, unsigned char, __VA_ARGS__)                                                                               \
    SHMEMI_FOR_SHORT_TYPES(X, __VA_ARGS__)                                                                             \
    SHMEMI_FOR_C_XAMO_TYPES(X, __VA_ARGS__)
#define SHMEMI_FOR_C_ARITHMETIC_TYPES(X, ...)                                                                          \
    SHMEMI_FOR_COMPLEX_TYPES(X, __VA_ARGS__)                                                                           \
    SHMEMI_FOR_C_RMA_TYPES(X, __VA_ARGS__)
#define SHMEMI_FOR_C_BITS_TYPES(X, ...)                                                                                \
    X(uchar, unsigned char, __VA_ARGS__)                                                                               \
    X(ushort, unsigned short, __VA_ARGS__)                                                                             \
    X(int8, int8_t, __VA_ARGS__)                                                                                       \
    X(int16, int16_t, __VA_ARGS__)                                                                                     \
    SHMEMI_FOR_C_BAMO_TYPES(X, __VA_ARGS__)

#endif
