/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What kernels need for communication (shmem/shmemx_device.h): tables of where the other PEs' copies of an object lie for
 * them. A table is made when a view of its object is first asked for, and stays until the object is unmapped.
 */
#ifndef SHMEMI_DEVICE_H
#define SHMEMI_DEVICE_H

#include "shmem/mapshmem/device_types.h"
#include "shmmap/region.h"

#include <stdbool.h>
#include <stdint.h>

/* Fill in the view of a region. 0, or -errno, logged: -ENOTSUP when kernels cannot use it. Any thread. */
int shmemi_device_view(const struct shmemi_region *region, shmemx_device_view_t *view);

/* A table of numbers that kernels which use the view read; equal tables are made once. It stays until the end. 0, or -errno,
 * logged. Any thread. */
int shmemi_device_numbers(const shmemx_device_view_t *view, const int *numbers, int n, const int **copy_p);

/* Free what was made for a region that is about to be unmapped; for all, with the numbers. No kernel uses it any more. */
void shmemi_device_forget(uint32_t region);
void shmemi_device_close(void);

/* ---- What kernels have handed to the agent ------------------------------------------------------------------------- */

struct shmemi_device_agent;
extern _Atomic(struct shmemi_device_agent *) shmemi_device_served; /* NULL: no view has needed an agent yet */

/* A wait for it; zeroed: not begun. */
struct shmemi_device_drain {
    bool has_begun;
    struct shmemi_device_agent *agent; /* of which it waits for the first `until` entries; NULL: it is over */
    uint64_t until;
};

/* Is everything complete that kernels have handed over which had ended when the first call began? What others have handed
 * over by then may be included. Any thread but the agent's, again and again. (ring.c) */
bool shmemi_device_is_drained(struct shmemi_device_drain *drain);
/* Wait until it is. (drain.c) */
void shmemi_device_quiet(void);

/* ---- kernel_memory.c: memory that kernels read -------------------------------------------------------------------- */

/* The user of an object, whose kernels use it: a place without address in memory of their context, or without memory, for
 * threads of the CPU. */

int shmemi_device_out_of_memory(void); /* -ENOMEM, logged */

/* Memory of the user with a copy of these bytes. -errno, logged. */
int shmemi_device_copy_of(const struct shmemi_place *user, const void *bytes, size_t nbytes, void **copy_p);
/* Write it again. -errno, logged. */
int shmemi_device_write(const struct shmemi_place *user, void *copy, const void *bytes, size_t nbytes);
void shmemi_device_free(const struct shmemi_place *user, void *copy);

#endif
