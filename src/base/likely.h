/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hints for the compiler on fast paths: the usual result of a test.
 */
#ifndef SHMEMI_LIKELY_H
#define SHMEMI_LIKELY_H

#define shmemi_likely(condition) __builtin_expect(!!(condition), 1)
#define shmemi_unlikely(condition) __builtin_expect(!!(condition), 0)

#endif
