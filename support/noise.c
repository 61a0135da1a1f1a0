/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times as words where a figure would be noise (noise.h).
 */
#include "noise.h"

#include <math.h>
#include <stdio.h>

const struct noise noise_of_gpu = {.least_seconds = 0.01, .share = 0.03};
const struct noise noise_of_cpu = {.least_seconds = 0.1, .share = 0.25};

const struct noise *noise_on(const struct device_ops *ops)
{
    return ops == &device_cuda_ops ? &noise_of_gpu : &noise_of_cpu;
}

enum told noise_part(const struct noise *noise, double whole, double part)
{
    if (whole < noise->least_seconds)
        return TOO_SMALL;
    if (part > whole * (1 + noise->share))
        return NOT_MEASURED;
    return part > whole ? TOO_SMALL : TOLD;
}

const char *noise_word(enum told told)
{
    return told == TOO_SMALL ? "too small to tell" : "not measured";
}

void noise_seconds(enum told told, double seconds, char text[NOISE_TEXT])
{
    if (told == TOLD)
        snprintf(text, NOISE_TEXT, "%.6f", seconds);
    else
        snprintf(text, NOISE_TEXT, "%s", noise_word(told));
}

void noise_compare(const struct noise *noise, double seconds, const char *other, double other_seconds,
                   char text[NOISE_TEXT])
{
    const double ratio = seconds / other_seconds;

    if (fmin(seconds, other_seconds) < noise->least_seconds || fabs(ratio - 1) < noise->share)
        snprintf(text, NOISE_TEXT, "beside %s: too small to tell", other);
    else if (ratio > 1)
        snprintf(text, NOISE_TEXT, "is %.0f %% slower than %s", 100 * (ratio - 1), other);
    else
        snprintf(text, NOISE_TEXT, "takes %.0f %% less time than %s", 100 * (1 - ratio), other);
}
