/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Combines numbers and verdicts of all PEs. Every function is collective.
 */
#ifndef BFS_COLLECTIVE_H
#define BFS_COLLECTIVE_H

#include <stddef.h>
#include <stdint.h>

/* Replaces each value by the sum, or the largest, over all PEs. */
void sum_over_pes(uint64_t *values, size_t n);
void max_over_pes(uint64_t *values, size_t n);

uint64_t sum_of_pes(uint64_t value);
uint64_t max_of_pes(uint64_t value);
uint64_t min_of_pes(uint64_t value);
uint64_t sum_of_lower_pes(uint64_t value);

/* Every PE gets what PE `root` has in data. */
void broadcast_from(int root, void *data, size_t bytes);

/* Ends all PEs in good order, with the text of the lowest PE that has one; problem is "" where there is none. */
void quit_if_any(const char *problem);

/* Bytes of the symmetric heap that a temporary buffer may take: at most wanted, and no more than a part of what is free
 * on the PE that has least. */
size_t heap_share(size_t wanted);

#endif
