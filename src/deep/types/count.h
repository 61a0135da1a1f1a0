/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many objects a pointer points to, as a sum of products of numbers and members: "n", "nx*ny", "n+1",
 * "2*shape.n-1".
 */
#ifndef SHMEMI_DEEP_COUNT_H
#define SHMEMI_DEEP_COUNT_H

#include "deep/types/type.h"

struct shmemi_count_expression;

/* The member with this name, which may have dots; false, with a cause in words, when it is no integer of the object. */
typedef bool (*shmemi_member_lookup)(const void *fields, const char *name, size_t length,
                                     struct shmemi_integer *member_p, const char **cause_p);

/* Parse a count. NULL when it makes no sense or there is no memory: cause_p says in a phrase why. */
struct shmemi_count_expression *shmemi_count_parse(const char *text, shmemi_member_lookup lookup, const void *fields,
                                                   const char **cause_p);
void shmemi_count_free(struct shmemi_count_expression *count);

/* The value for an object; it may be at any address. 0 when it is not positive; -EOVERFLOW when it does not fit. */
int shmemi_count_evaluate(const struct shmemi_count_expression *count, const void *object, size_t *value_p);

/* For layout hashes: the same for the same expression. */
uint64_t shmemi_count_hash(const struct shmemi_count_expression *count, uint64_t seed);

#endif
