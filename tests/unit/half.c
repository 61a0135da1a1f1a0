/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers of 16 bits: all 65536 of both kinds there and back; and around each of them, and in the middle between it and
 * the next one, how floats are rounded. The model is made of ldexp, not of bits.
 */
#include "gpu/half_floats.h"
#include "unit.h"

#include <math.h>
#include <stdbool.h>

struct format {
    float (*to_float)(uint16_t number);
    uint16_t (*of_float)(float number);
    int fraction_bits, bias;
};

static float float_of_half(uint16_t number)
{
    return shmemi_float_of_half(number);
}
static uint16_t half_of_float(float number)
{
    return shmemi_half_of_float(number);
}
static float float_of_bfloat16(uint16_t number)
{
    return shmemi_float_of_bfloat16(number);
}
static uint16_t bfloat16_of_float(float number)
{
    return shmemi_bfloat16_of_float(number);
}

static const struct format formats[] = {{float_of_half, half_of_float, 10, 15},
                                        {float_of_bfloat16, bfloat16_of_float, 7, 127}};

static int exponent_of(const struct format *format, uint16_t number)
{
    return (number & 0x7fff) >> format->fraction_bits;
}

static int fraction_of(const struct format *format, uint16_t number)
{
    return number & ((1 << format->fraction_bits) - 1);
}

static bool is_largest_exponent(const struct format *format, uint16_t number)
{
    return exponent_of(format, number) == 2 * format->bias + 1;
}

/* Also of what follows the largest number: the power of two that would come next. */
static double value_of(const struct format *format, uint16_t number)
{
    const int exponent = exponent_of(format, number), fraction = fraction_of(format, number);
    const int hidden = exponent ? 1 << format->fraction_bits : 0, scale = exponent ? exponent : 1;
    const double value = ldexp(hidden + fraction, scale - format->bias - format->fraction_bits);
    return number & 0x8000 ? -value : value;
}

static void check_there_and_back(const struct format *format, uint16_t number)
{
    const float wide = format->to_float(number);
    if (is_largest_exponent(format, number) && fraction_of(format, number))
        CHECK(isnan(wide));
    else if (is_largest_exponent(format, number))
        CHECK(isinf(wide) && !signbit(wide) == !(number & 0x8000));
    else
        CHECK((double)wide == value_of(format, number) && !signbit(wide) == !(number & 0x8000));
    CHECK(format->of_float(wide) == number); /* NaNs, too */
}

/* Between a number and the next one of larger size, which may be the first infinite one. */
static void check_rounding(const struct format *format, uint16_t number)
{
    const uint16_t above = (uint16_t)(number + 1);
    const double middle = (value_of(format, number) + value_of(format, above)) / 2;
    const float tie = (float)middle;
    if ((double)tie != middle) /* the middle between the smallest numbers is too small for a float */
        return;
    CHECK(format->of_float(tie) == (number & 1 ? above : number));
    CHECK(format->of_float(nextafterf(tie, 0)) == number);
    CHECK(format->of_float(nextafterf(tie, number & 0x8000 ? -INFINITY : INFINITY)) == above);
}

static void check_format(const struct format *format)
{
    for (unsigned number = 0; number < 65536; number++) {
        check_there_and_back(format, (uint16_t)number);
        if (!is_largest_exponent(format, (uint16_t)number))
            check_rounding(format, (uint16_t)number);
    }
    for (uint32_t bits = 0x7f800001; bits <= 0x7fffffff; bits += 4093) {
        const uint16_t narrow = format->of_float(shmemi_float_of_bits(bits));
        CHECK(is_largest_exponent(format, narrow) && fraction_of(format, narrow));
    }
    CHECK(isnan(format->to_float(format->of_float(shmemi_float_of_bits(0x7f800001))))); /* no payload fits */
}

int main(void)
{
    check_format(&formats[0]);
    check_format(&formats[1]);
    return 0;
}
