/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parses and evaluates the counts of pointers.
 */
#include "deep/types/count.h"

#include "deep/types/hash.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Wide enough for the product of any two members; further overflow is detected. */
typedef __int128 wide_t;

/* A number, or a member if its size is not 0. */
struct factor {
    struct shmemi_integer member;
    uint64_t number;
};

/* Factors first to first + n - 1, multiplied. */
struct term {
    bool is_negative;
    size_t first, n;
};

struct shmemi_count_expression {
    bool is_member; /* consists of one member */
    size_t n_terms, n_factors;
    struct term *terms;
    struct factor *factors;
};

struct parser {
    const char *text, *cause;
    shmemi_member_lookup lookup;
    const void *fields;
    struct shmemi_count_expression *count;
};

static void skip_space(struct parser *parser)
{
    while (isspace((unsigned char)*parser->text))
        parser->text++;
}

static bool fail(struct parser *parser, const char *cause)
{
    parser->cause = cause;
    return false;
}

static bool parse_number(struct parser *parser, struct factor *factor)
{
    char *end;
    errno = 0;
    factor->number = strtoull(parser->text, &end, 10);
    parser->text = end;
    if (errno || factor->number > INT64_MAX)
        return fail(parser, "a number in it is too large");
    if (isalpha((unsigned char)*end) || *end == '_' || *end == '.')
        return fail(parser, "a number in it is not a decimal integer");
    return true;
}

static bool is_name_character(unsigned char c)
{
    return isalnum(c) || c == '_' || c == '$' || c == '.' || c >= 0x80;
}

static bool parse_member(struct parser *parser, struct factor *factor)
{
    const char *name = parser->text;
    while (is_name_character((unsigned char)*parser->text))
        parser->text++;
    if (parser->text == name)
        return fail(parser, "it is not a sum of products of members and numbers");
    return parser->lookup(parser->fields, name, (size_t)(parser->text - name), &factor->member, &parser->cause);
}

static bool parse_product(struct parser *parser, struct term *term)
{
    struct shmemi_count_expression *count = parser->count;
    term->first = count->n_factors;
    for (;;) {
        skip_space(parser);
        struct factor *factor = &count->factors[count->n_factors++];
        term->n++;
        bool is_number = isdigit((unsigned char)*parser->text);
        if (!(is_number ? parse_number(parser, factor) : parse_member(parser, factor)))
            return false;
        skip_space(parser);
        if (*parser->text != '*')
            return true;
        parser->text++;
    }
}

static bool parse_sum(struct parser *parser)
{
    struct shmemi_count_expression *count = parser->count;
    skip_space(parser);
    if (!*parser->text)
        return fail(parser, "it is empty");
    do {
        struct term *term = &count->terms[count->n_terms++];
        skip_space(parser);
        if (*parser->text == '+' || *parser->text == '-')
            term->is_negative = *parser->text++ == '-';
        else if (count->n_terms > 1)
            return fail(parser, "it is not a sum of products of members and numbers");
        if (!parse_product(parser, term))
            return false;
    } while (*parser->text);
    return true;
}

/* Room for length terms and factors is enough, since each takes at least one character of the text. */
static struct shmemi_count_expression *make_room(size_t length)
{
    struct shmemi_count_expression *count = calloc(1, sizeof *count);
    if (!count)
        return NULL;
    count->terms = calloc(length + 1, sizeof *count->terms);
    count->factors = calloc(length + 1, sizeof *count->factors);
    if (count->terms && count->factors)
        return count;
    shmemi_count_free(count);
    return NULL;
}

struct shmemi_count_expression *shmemi_count_parse(const char *text, shmemi_member_lookup lookup, const void *fields,
                                                   const char **cause_p)
{
    struct parser parser = {.text = text, .lookup = lookup, .fields = fields};
    struct shmemi_count_expression *count = parser.count = make_room(strlen(text));
    if (!count) {
        *cause_p = "out of memory";
        return NULL;
    }
    if (!parse_sum(&parser)) {
        *cause_p = parser.cause;
        shmemi_count_free(count);
        return NULL;
    }
    count->is_member = count->n_factors == 1 && count->factors[0].member.size && !count->terms[0].is_negative;
    return count;
}

void shmemi_count_free(struct shmemi_count_expression *count)
{
    if (!count)
        return;
    free(count->terms);
    free(count->factors);
    free(count);
}

static inline wide_t read_member(const struct shmemi_integer *member, const void *object)
{
    const char *bytes = (const char *)object + member->offset;
    uint64_t value = 0; /* little-endian, as images are */
    switch (member->size) {
    case 1:
        memcpy(&value, bytes, 1);
        return member->is_signed ? (wide_t)(int8_t)value : (wide_t)value;
    case 2:
        memcpy(&value, bytes, 2);
        return member->is_signed ? (wide_t)(int16_t)value : (wide_t)value;
    case 4:
        memcpy(&value, bytes, 4);
        return member->is_signed ? (wide_t)(int32_t)value : (wide_t)value;
    default:
        memcpy(&value, bytes, 8);
        return member->is_signed ? (wide_t)(int64_t)value : (wide_t)value;
    }
}

/* False on overflow. A factor of 0 gives 0 wherever it stands. */
static bool multiply(const struct factor *factors, size_t n, const void *object, wide_t *product_p)
{
    wide_t product = 1;
    bool fits = true;
    for (size_t i = 0; i < n; i++) {
        wide_t value = factors[i].member.size ? read_member(&factors[i].member, object) : (wide_t)factors[i].number;
        if (!value) {
            *product_p = 0;
            return true;
        }
        fits = fits && !__builtin_mul_overflow(product, value, &product);
    }
    *product_p = product;
    return fits;
}

static int to_size(wide_t value, size_t *value_p)
{
    if (value > (wide_t)SIZE_MAX)
        return -EOVERFLOW;
    *value_p = value > 0 ? (size_t)value : 0;
    return 0;
}

int shmemi_count_evaluate(const struct shmemi_count_expression *count, const void *object, size_t *value_p)
{
    if (count->is_member)
        return to_size(read_member(&count->factors[0].member, object), value_p);
    wide_t sum = 0, product;
    for (size_t i = 0; i < count->n_terms; i++) {
        const struct term *term = &count->terms[i];
        if (!multiply(count->factors + term->first, term->n, object, &product))
            return -EOVERFLOW;
        if (term->is_negative ? __builtin_sub_overflow(sum, product, &sum) : __builtin_add_overflow(sum, product, &sum))
            return -EOVERFLOW;
    }
    return to_size(sum, value_p);
}

uint64_t shmemi_count_hash(const struct shmemi_count_expression *count, uint64_t seed)
{
    uint64_t hash = shmemi_hash_add(seed, count->n_terms);
    for (size_t i = 0; i < count->n_terms; i++) {
        const struct term *term = &count->terms[i];
        hash = shmemi_hash_add(hash, term->n * 2 + term->is_negative);
        for (size_t j = term->first; j < term->first + term->n; j++) {
            const struct factor *factor = &count->factors[j];
            hash = shmemi_hash_add(hash, (uint64_t)factor->member.size * 2 + factor->member.is_signed);
            hash = shmemi_hash_add(hash, factor->member.size ? factor->member.offset : factor->number);
        }
    }
    return hash;
}
