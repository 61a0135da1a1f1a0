/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The atomic operations of 32 and 64 bits that are measured.
 */
#ifndef OSU_ATOMICS_OPERATIONS_H
#define OSU_ATOMICS_OPERATIONS_H

#include <stdbool.h>

/* What a word holds before the operation. */
enum { ATOMICS_BEFORE = 3 };

/* One operation of one type, which is done on count words of a PE, each once. */
struct atomics_operation {
    const char *name;
    /* Blocking; returns the sum of what was fetched. */
    long long (*repeat)(void *words, long count, int pe);
    /* Nonblocking: what is fetched goes to results, an element each. NULL where nothing is fetched, and where
     * the library has no such operations. */
    void (*repeat_nbi)(void *results, void *words, long count, int pe);
    void (*set_words)(void *words, long count, long long value);
    bool fetches;
    long long after; /* what a word must hold afterwards */
};

extern const struct atomics_operation atomics_operations[];
extern const int n_atomics_operations;

#endif
