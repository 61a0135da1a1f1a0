/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts of deep copy: values of expressions, with members of all integer types at any address, and overflow.
 */
#include "deep/types/count.h"

#include "deep/types/type.h"

#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* At odd offsets, as in packed objects. */
struct __attribute__((packed)) object {
    char shift;
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    struct {
        int32_t nx, ny;
    } shape;
};

#define MEMBER(_name, _size, _is_signed)                                                                               \
    {                                                                                                                  \
#_name,                                                                                                        \
        {                                                                                                              \
            offsetof(struct object, _name), _size, _is_signed                                                          \
        }                                                                                                              \
    }
static const struct {
    const char *name;
    struct shmemi_integer member;
} members[] = {
    MEMBER(i8, 1, true),       MEMBER(u8, 1, false),      MEMBER(i16, 2, true), MEMBER(u16, 2, false),
    MEMBER(i32, 4, true),      MEMBER(u32, 4, false),     MEMBER(i64, 8, true), MEMBER(u64, 8, false),
    MEMBER(shape.nx, 4, true), MEMBER(shape.ny, 4, true),
};

static bool look_up(const void *fields, const char *name, size_t length, struct shmemi_integer *member_p,
                    const char **cause_p)
{
    (void)fields;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (strlen(members[i].name) != length || memcmp(members[i].name, name, length))
            continue;
        *member_p = members[i].member;
        return true;
    }
    *cause_p = "unknown";
    return false;
}

static struct shmemi_count_expression *parse(const char *text)
{
    const char *cause = NULL;
    struct shmemi_count_expression *count = shmemi_count_parse(text, look_up, NULL, &cause);
    if (!count)
        fprintf(stderr, "%s: %s\n", text, cause);
    CHECK(count);
    return count;
}

static int evaluate(const char *text, const struct object *object, size_t *value_p)
{
    struct shmemi_count_expression *count = parse(text);
    int rc = shmemi_count_evaluate(count, object, value_p);
    shmemi_count_free(count);
    return rc;
}

static void check_value(const char *text, const struct object *object, size_t expected)
{
    size_t value = 4711;
    int rc = evaluate(text, object, &value);
    if (rc || value != expected)
        fprintf(stderr, "%s: %d, %zu instead of %zu\n", text, rc, value, expected);
    CHECK(!rc && value == expected);
}

static void check_overflow(const char *text, const struct object *object)
{
    size_t value;
    CHECK(evaluate(text, object, &value) == -EOVERFLOW);
}

static void check_members(void)
{
    struct object object = {0, 100, 200, 30000, 60000, 2000000000, 4000000000, INT64_MAX, UINT64_MAX, {7, 9}};
    check_value("i8", &object, 100);
    check_value("u8", &object, 200);
    check_value("i16", &object, 30000);
    check_value("u16", &object, 60000);
    check_value("i32", &object, 2000000000);
    check_value("u32", &object, 4000000000);
    check_value("i64", &object, INT64_MAX);
    check_value("u64", &object, UINT64_MAX);
    check_value("shape.ny", &object, 9);
    struct object negative = {0, -1, 0, -1, 0, -1, 0, INT64_MIN, 0, {-1, 0}};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        check_value(members[i].name, &negative, 0);
}

static void check_sums(void)
{
    struct object object = {0, -5, 200, 3, 4, 1000000, 3000000000, INT64_MAX, UINT64_MAX, {7, 9}};
    check_value("shape.nx*shape.ny", &object, 63);
    check_value(" shape.nx * shape.ny + 1 ", &object, 64);
    check_value("2*shape.nx-1", &object, 13);
    check_value("-1+2*shape.nx", &object, 13);
    check_value("+shape.nx", &object, 7);
    check_value("i16*u16*shape.nx*2+u8-10", &object, 358);
    check_value("shape.nx-shape.ny", &object, 0);
    check_value("shape.nx*i8", &object, 0);
    check_value("i8+7", &object, 2);
    check_value("i8*i8", &object, 25);
    check_value("-i8", &object, 5);
    check_value("42", &object, 42);
    check_value("0", &object, 0);
    check_value("u32*u32", &object, (size_t)9000000000000000000);
    check_value("i64+i64", &object, SIZE_MAX - 1);
    check_value("u64-u64+3", &object, 3);
    check_value("9223372036854775807", &object, INT64_MAX);
}

/* Overflow is detected, and a factor of 0 gives 0 wherever it stands. */
static void check_overflows(void)
{
    struct object object = {0, 0, 200, 3, 4, -1, 3000000000, INT64_MAX, UINT64_MAX, {7, 9}};
    check_overflow("u64+1", &object);
    check_overflow("u64*u64", &object);
    check_overflow("2*u64", &object);
    check_overflow("u64*u64*u64", &object);
    check_overflow("i64*i64*i64*i32", &object); /* below the least value */
    check_overflow("u64*u64*i32", &object);
    check_overflow("i64*i64+i64*i64+i64*i64+i64*i64", &object);
    check_value("u64*u64*u64*i8", &object, 0);
    check_value("i8*u64*u64*u64", &object, 0);
    check_value("u64+1-1", &object, UINT64_MAX);
}

/* At any address, without reading bytes of a neighbour. */
static void check_addresses(void)
{
    char bytes[2 * sizeof(struct object)];
    const struct object object = {0, 1, 2, 3, 4, 5, 6, 7, 8, {9, 10}};
    for (size_t shift = 0; shift < sizeof object; shift++) {
        memset(bytes, 0xff, sizeof bytes);
        memcpy(bytes + shift, &object, sizeof object);
        for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
            check_value(members[i].name, (const struct object *)(const void *)(bytes + shift), i + 1);
    }
}

static uint64_t hash(const char *text)
{
    struct shmemi_count_expression *count = parse(text);
    uint64_t value = shmemi_count_hash(count, 1);
    CHECK(value != shmemi_count_hash(count, 2));
    shmemi_count_free(count);
    return value;
}

static void check_hashes(void)
{
    static const char *const texts[] = {"i8",    "u8",       "i16",      "-i8",      "i8*u8",   "u8*i8",
                                        "i8+u8", "i8-u8",    "1",        "2",        "i8+1",    "i8-1",
                                        "i8*1",  "i8+i8+i8", "i8*i8*i8", "i8*i8+i8", "i8+i8*i8"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (size_t j = 0; j < i; j++)
            CHECK(hash(texts[i]) != hash(texts[j]));
    CHECK(hash("i8 * u8 + 1") == hash("i8*u8+1"));
}

int main(void)
{
    check_members();
    check_sums();
    check_overflows();
    check_addresses();
    check_hashes();
    return 0;
}
