/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What may be told of times that were measured once or twice. A time that lasted no longer than a scheduler's turn, and a
 * difference that the same run has from one time to the next, are noise: words stand in the place of the figure.
 */
#ifndef MAPSHMEM_SUPPORT_NOISE_H
#define MAPSHMEM_SUPPORT_NOISE_H

#include <stddef.h>

#include "device.h"

struct noise {
    double least_seconds; /* a shorter run says nothing             */
    double share;         /* two runs of the same differ by so much */
};

/* A GPU that a PE has for itself is steady. A CPU's cores are shared with all that runs on the machine; bench/scale_report.py
 * has the same limits for single runs. */
extern const struct noise noise_of_gpu, noise_of_cpu;

const struct noise *noise_on(const struct device_ops *ops);

enum told { TOLD, TOO_SMALL, NOT_MEASURED };

/* Whether a part of the whole, which was measured apart, can be told: if it took longer than the whole, the measurement has
 * failed. */
enum told noise_part(const struct noise *noise, double whole, double part);

/* "too small to tell", "not measured". */
const char *noise_word(enum told told);

enum { NOISE_TEXT = 96 };

/* The seconds with six digits behind the point, or the word. */
void noise_seconds(enum told told, double seconds, char text[NOISE_TEXT]);

/* How one of two times compares with the other: "is 28 % slower than naive". */
void noise_compare(const struct noise *noise, double seconds, const char *other, double other_seconds,
                   char text[NOISE_TEXT]);

#endif
