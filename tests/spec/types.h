/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The type tables of the specification, written down again: the tests do not take them from the header that they test.
 * X(TYPENAME, TYPE)
 */
#ifndef SPEC_TYPES_H
#define SPEC_TYPES_H

/* clang-format off */
/* Table 6: standard AMO types. */
#define SPEC_AMO_TYPES(X)                                                                                              \
    X(int, int) X(long, long) X(longlong, long long) X(uint, unsigned int) X(ulong, unsigned long)                     \
    X(ulonglong, unsigned long long) X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)       \
    X(size, size_t) X(ptrdiff, ptrdiff_t)

/* What table 7, extended AMO types, has in addition. */
#define SPEC_FLOAT_AMO_TYPES(X) X(float, float) X(double, double)

/* Table 8: bitwise AMO types; and the standard ones that it lacks. */
#define SPEC_BITWISE_TYPES(X)                                                                                          \
    X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int32, int32_t)                   \
    X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)
#define SPEC_ARITHMETIC_ONLY_TYPES(X)                                                                                  \
    X(int, int) X(long, long) X(longlong, long long) X(size, size_t) X(ptrdiff, ptrdiff_t)

/* Table 5: standard RMA types. */
#define SPEC_RMA_TYPES(X)                                                                                              \
    X(float, float) X(double, double) X(longdouble, long double) X(char, char) X(schar, signed char) X(short, short)   \
    X(uchar, unsigned char) X(ushort, unsigned short) X(int8, int8_t) X(int16, int16_t) X(uint8, uint8_t)              \
    X(uint16, uint16_t) SPEC_AMO_TYPES(X)

/* X(SIZE, bytes): the forms with the size of the element in their name. */
#define SPEC_SIZES(X) X(8, 1) X(16, 2) X(32, 4) X(64, 8) X(128, 16)
/* clang-format on */

#endif
