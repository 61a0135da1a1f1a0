/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A hash that only who knows a key can compute: SipHash-2-4 with a result of 128 bits (Aumasson and Bernstein, 2012). With
 * it the two ends of a connection prove to each other that they know the key, without sending it.
 */
#ifndef SHMEMI_KEYED_HASH_H
#define SHMEMI_KEYED_HASH_H

#include "bootstrap/job_key.h"

#include <stddef.h>

struct shmemi_key shmemi_keyed_hash(const struct shmemi_key *key, const void *data, size_t size);

#endif
