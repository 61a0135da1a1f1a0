/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The smaller one of two sizes.
 */
#ifndef SHMEMI_LEAST_H
#define SHMEMI_LEAST_H

#include <stddef.h>

static inline size_t shmemi_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
