/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Annotations for oshtypes that say what C and C++ types do not: how many objects each pointer points to. They are
 * written at file scope beside the types, need no other header and add a few bytes of constant data to the program.
 *
 *     typedef struct tree { double key; int n; double *data; char *name; struct tree *left, *right, *parent; } tree;
 *
 *     SHMEMX_COUNT(tree, data, "n");
 *     SHMEMX_STRING(tree, name);
 *     SHMEMX_ONE(tree, left);
 *     SHMEMX_ONE(tree, right);
 *     SHMEMX_WEAK(tree, parent);
 *     SHMEMX_LAYOUT(tree, key, n, data, name, left, right, parent);
 *
 * Each annotation leaves a mark in the section shmemx_marks of the object file, which holds the sizes and offsets that
 * the compiler saw. oshtypes reads the marks and writes a function that compares them with those of the running program
 * (shmemx_types_register), and so detects types that have changed since.
 */
#ifndef SHMEMX_ANNOTATE_H
#define SHMEMX_ANNOTATE_H

#include <stddef.h>

/* The member points to as many objects as the text says: a sum of products of numbers and integer members of the same
 * object, such as "n", "nx*ny", "2*shape.n+1". For a void pointer that points to doubles the text is "n of double". */
#define SHMEMX_COUNT(type, member, text) SHMEMX_MEMBER_MARK_(type, member, "count " text)
/* The member points to one object, or is null. */
#define SHMEMX_ONE(type, member) SHMEMX_MEMBER_MARK_(type, member, "one")
/* The member points to characters up to the first that is 0, or is null. */
#define SHMEMX_STRING(type, member) SHMEMX_MEMBER_MARK_(type, member, "string")
/* The pointer is not followed: see SHMEMX_FIELD_WEAK and SHMEMX_FIELD_OPAQUE. */
#define SHMEMX_WEAK(type, member) SHMEMX_MEMBER_MARK_(type, member, "weak")
#define SHMEMX_OPAQUE(type, member) SHMEMX_MEMBER_MARK_(type, member, "opaque")
/* The member is a CFI_CDESC_T(rank); the text gives rank and element type: SHMEMX_CFI(grid, cells, "2 of double"). */
#define SHMEMX_CFI(type, member, text) SHMEMX_MEMBER_MARK_(type, member, "cfi " text)

/* Records the size of the type and the offsets and sizes of up to 32 members, for the comparison only. */
#define SHMEMX_LAYOUT(type, ...)                                                                                       \
    SHMEMX_MARK_(type, #__VA_ARGS__, "layout", SHMEMX_NUMBER_OF_(__VA_ARGS__),                                         \
                 SHMEMX_JOIN_(SHMEMX_PLACES_, SHMEMX_NUMBER_OF_(__VA_ARGS__))(type, __VA_ARGS__))

/* ---- Implementation: nothing below is for use by programs -------------------------------------------------------- */

enum { SHMEMX_MARK_WORD = 0x4b52414d }; /* each mark begins with this word, twice */

#define SHMEMX_MEMBER_MARK_(type, member, text) SHMEMX_MARK_(type, #member, text, 1, SHMEMX_PLACES_1(type, member))

/* The pointer at the end makes compilers describe the type in the debug information. */
#define SHMEMX_MARK_(of_type, members, meaning, number, ...)                                                           \
    SHMEMX_ANY_LAYOUT_                                                                                                 \
    static const struct {                                                                                              \
        unsigned word[2], n, text_bytes;                                                                               \
        unsigned long long size, places[2 * (number)];                                                                 \
        char text[sizeof(#of_type "\0" members "\0" meaning)];                                                         \
        of_type *any;                                                                                                  \
    } SHMEMX_JOIN_(shmemx_mark_, __COUNTER__)                                                                          \
        SHMEMX_KEPT_IN_("shmemx_marks") = {{SHMEMX_MARK_WORD, SHMEMX_MARK_WORD},                                       \
                                           number,                                                                     \
                                           sizeof(#of_type "\0" members "\0" meaning),                                 \
                                           sizeof(of_type),                                                            \
                                           {__VA_ARGS__},                                                              \
                                           #of_type "\0" members "\0" meaning,                                         \
                                           0};                                                                         \
    SHMEMX_END_LAYOUT_                                                                                                 \
    SHMEMX_STATIC_ASSERT_(1, "")

/* oshtypes writes this for oshtypes --check: a type and a hash of its layout. */
#define SHMEMX_STAMP_(number, type, hash)                                                                              \
    static const struct {                                                                                              \
        unsigned word[2], n, text_bytes;                                                                               \
        unsigned long long hash_of_layout;                                                                             \
        char text[sizeof(type "\0\0")];                                                                                \
    } shmemx_stamp_##number SHMEMX_KEPT_IN_("shmemx_stamps") = {                                                       \
        {SHMEMX_MARK_WORD, SHMEMX_MARK_WORD}, 0, sizeof(type "\0\0"), hash, type "\0\0"};

/* The attribute retain makes linkers keep a section that nothing refers to. */
#ifdef __has_attribute
#if __has_attribute(retain)
#define SHMEMX_KEPT_IN_(name) __attribute__((used, retain, aligned(8), section(name)))
#endif
#endif
#ifndef SHMEMX_KEPT_IN_
#define SHMEMX_KEPT_IN_(name) __attribute__((used, aligned(8), section(name)))
#endif

#ifdef __cplusplus
#define SHMEMX_STATIC_ASSERT_ static_assert
/* offsetof is correct for every type without virtual bases, but compilers warn about it. */
#define SHMEMX_ANY_LAYOUT_ _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Winvalid-offsetof\"")
#define SHMEMX_END_LAYOUT_ _Pragma("GCC diagnostic pop")
#else
#define SHMEMX_STATIC_ASSERT_ _Static_assert
#define SHMEMX_ANY_LAYOUT_
#define SHMEMX_END_LAYOUT_
#endif

#define SHMEMX_JOIN_(a, b) SHMEMX_JOIN_AS_IS_(a, b)
#define SHMEMX_JOIN_AS_IS_(a, b) a##b

#define SHMEMX_NUMBER_OF_(...)                                                                                         \
    SHMEMX_ARGUMENT_33_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13,   \
                        12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define SHMEMX_ARGUMENT_33_(m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, \
                            m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32, number, ...)                   \
    number
#define SHMEMX_PLACE_(type, member) offsetof(type, member), sizeof(((type *)0)->member)
#define SHMEMX_PLACES_1(t, m) SHMEMX_PLACE_(t, m)
#define SHMEMX_PLACES_2(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_1(t, __VA_ARGS__)
#define SHMEMX_PLACES_3(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_2(t, __VA_ARGS__)
#define SHMEMX_PLACES_4(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_3(t, __VA_ARGS__)
#define SHMEMX_PLACES_5(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_4(t, __VA_ARGS__)
#define SHMEMX_PLACES_6(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_5(t, __VA_ARGS__)
#define SHMEMX_PLACES_7(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_6(t, __VA_ARGS__)
#define SHMEMX_PLACES_8(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_7(t, __VA_ARGS__)
#define SHMEMX_PLACES_9(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_8(t, __VA_ARGS__)
#define SHMEMX_PLACES_10(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_9(t, __VA_ARGS__)
#define SHMEMX_PLACES_11(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_10(t, __VA_ARGS__)
#define SHMEMX_PLACES_12(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_11(t, __VA_ARGS__)
#define SHMEMX_PLACES_13(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_12(t, __VA_ARGS__)
#define SHMEMX_PLACES_14(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_13(t, __VA_ARGS__)
#define SHMEMX_PLACES_15(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_14(t, __VA_ARGS__)
#define SHMEMX_PLACES_16(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_15(t, __VA_ARGS__)
#define SHMEMX_PLACES_17(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_16(t, __VA_ARGS__)
#define SHMEMX_PLACES_18(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_17(t, __VA_ARGS__)
#define SHMEMX_PLACES_19(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_18(t, __VA_ARGS__)
#define SHMEMX_PLACES_20(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_19(t, __VA_ARGS__)
#define SHMEMX_PLACES_21(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_20(t, __VA_ARGS__)
#define SHMEMX_PLACES_22(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_21(t, __VA_ARGS__)
#define SHMEMX_PLACES_23(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_22(t, __VA_ARGS__)
#define SHMEMX_PLACES_24(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_23(t, __VA_ARGS__)
#define SHMEMX_PLACES_25(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_24(t, __VA_ARGS__)
#define SHMEMX_PLACES_26(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_25(t, __VA_ARGS__)
#define SHMEMX_PLACES_27(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_26(t, __VA_ARGS__)
#define SHMEMX_PLACES_28(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_27(t, __VA_ARGS__)
#define SHMEMX_PLACES_29(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_28(t, __VA_ARGS__)
#define SHMEMX_PLACES_30(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_29(t, __VA_ARGS__)
#define SHMEMX_PLACES_31(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_30(t, __VA_ARGS__)
#define SHMEMX_PLACES_32(t, m, ...) SHMEMX_PLACE_(t, m), SHMEMX_PLACES_31(t, __VA_ARGS__)

#endif
