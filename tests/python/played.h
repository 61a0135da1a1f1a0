/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the generated calls of kernels need to be compiled for the CPU, where threads play those of a GPU; kernel_values.py
 * makes the calls.
 */
#ifndef PLAYED_H
#define PLAYED_H

#include <math.h>
#include <shmemx_device.h>

/* Half precision by arithmetic, not by its bits: what it is compared with has another way. */
static inline float from_half(unsigned short bits)
{
    const int exponent = bits >> 10 & 31, digits = bits & 1023;
    float size = exponent == 31 ? (digits ? NAN : INFINITY)
                 : exponent     ? ldexpf(static_cast<float>(digits + 1024), exponent - 25)
                                : ldexpf(static_cast<float>(digits), -24);
    return bits & 0x8000 ? -size : size;
}

static inline unsigned short to_half(float value)
{
    const unsigned sign = signbit(value) ? 0x8000u : 0u;
    const float size = fabsf(value);
    if (isnan(value))
        return static_cast<unsigned short>(sign | 0x7e00u);
    int exponent = 0;
    frexpf(size, &exponent);
    const int place = size < 0.00001f || exponent < -13 ? -24 : exponent - 11; /* of the last digit */
    if (size >= 65520.f)
        return static_cast<unsigned short>(sign | 0x7c00u);
    const unsigned digits =
        static_cast<unsigned>(nearbyintf(ldexpf(size, -place))); /* 2048 is carried over by adding */
    return static_cast<unsigned short>(sign | ((static_cast<unsigned>(place + 24) << 10) + digits));
}

extern "C" {
/* Of a debug build: the line, and an exit status that nothing else has. */
void __assertfail(const char *message, const char *file, unsigned line, const char *function, size_t)
{
    printf("%s: %s %u: %s\n", function, file, line, message);
    fflush(stdout);
    _exit(33);
}

void play(unsigned n_threads, void (*kernel)(void))
{
    shmemx_device_host_launch(1, n_threads, kernel);
}
}

#endif
