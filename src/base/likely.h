/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hints for the compiler on fast paths: the usual result of a test, and where routines begin.
 */
#ifndef SHMEMI_LIKELY_H
#define SHMEMI_LIKELY_H

#include "base/system/cache_line.h"

#define shmemi_likely(condition) __builtin_expect(!!(condition), 1)
#define shmemi_unlikely(condition) __builtin_expect(!!(condition), 0)

/* A routine of some nanoseconds begins at a cache line: otherwise its time changes by a tenth whenever something that is
 * linked before it grows. */
#define SHMEMI_QUICK __attribute__((aligned(SHMEMI_CACHE_LINE)))

#endif
