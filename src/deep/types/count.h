/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts: the number of objects that a pointer points to, as a sum of products of numbers and members: "n", "nx*ny",
 * "n+1", "2*shape.n-1".
 */
#ifndef SHMEMI_DEEP_COUNT_H
#define SHMEMI_DEEP_COUNT_H

#include "deep/types/type.h"

struct shmemi_count_expression;

/* Find the member with this name, which may have dots. False, with a cause in words, if it is not an integer of the
 * object. */
typedef bool (*shmemi_member_lookup)(const void *fields, const char *name, size_t length,
                                     struct shmemi_integer *member_p, const char **cause_p);

/* Parse a count. Returns NULL, with a phrase in *cause_p, if it is invalid or there is no memory. */
struct shmemi_count_expression *shmemi_count_parse(const char *text, shmemi_member_lookup lookup, const void *fields,
                                                   const char **cause_p);
void shmemi_count_free(struct shmemi_count_expression *count);

/* Compute the count for an object, which need not be aligned: 0 if not positive, -EOVERFLOW if it does not fit. */
int shmemi_count_evaluate(const struct shmemi_count_expression *count, const void *object, size_t *value_p);

/* A hash for layouts; equal for equal expressions. */
uint64_t shmemi_count_hash(const struct shmemi_count_expression *count, uint64_t seed);

#endif
