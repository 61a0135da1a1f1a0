/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which route mapped memory can be expected to take, for tools that print it and tests that check it (drivers/table.c
 * decides), and a record of slow routes that the user could avoid.
 */
#ifndef SHMEMI_ROUTES_H
#define SHMEMI_ROUTES_H

#include "base/choices.h"
#include "gpu/memory.h"

#include <stdbool.h>
#include <stddef.h>

/* Where the device of another PE is. */
enum shmemi_relation {
    SHMEMI_SAME_GPU,        /* which the PEs use in turns */
    SHMEMI_SAME_GPU_BESIDE, /* whose kernels run beside each other (MPS) */
    SHMEMI_PEER_ACCESS,
    SHMEMI_NO_PEER_ACCESS,
    SHMEMI_OTHER_NODE,
    SHMEMI_RELATIONS,
};

const char *shmemi_relation_name(enum shmemi_relation relation);

/* The name of the driver that routes.def gives. */
const char *shmemi_route_of(enum shmemi_memory_class class, enum shmemi_relation relation);

/* Does SHMEM_GPU_ROUTE leave this route to GPU memory open? Forcing gdr concerns other nodes only. */
bool shmemi_route_is_allowed(enum shmemi_gpu_route route, bool in_node);

/* During a map (one at a time): begin, then notes of the slow routes found; cause is the first of them, or "". */
void shmemi_slow_route_begin(void);
const char *shmemi_slow_route_cause(void);

/* Memory of a PE, this one or another, takes a slow route for a reason that the user could remove. Logs a warning, once
 * for each cause; with SHMEM_GPU_STRICT, and when a route is forced, the cause is only noted. */
void shmemi_slow_route_note(int pe, const char *cause);

#endif
