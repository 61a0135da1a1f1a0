/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spaces of shmemx_deep.h: copies of this PE's objects on a device. A space knows what is mapped and which copy belongs
 * to which object.
 */
#ifndef SHMEMI_SPACE_H
#define SHMEMI_SPACE_H

#include "deep/types/type.h"

struct shmemi_space;

/* The argument of a map: nelems objects, which it maps with all that they reach. */
struct shmemi_space_root {
    uintptr_t address;
    const struct shmemi_type *type;
    size_t nelems;
};

/* Whether this is the address of a space, and not any other pointer or a space that was closed. */
bool shmemi_space_exists(const struct shmemi_space *space);

/* The functions below return 0, or log an error and return -errno, as shmemx_deep.h says. One thread at a time may use a
 * space. */
int shmemi_space_open(const shmemx_deep_space_attr_t *attr, struct shmemi_space **space_p);
void shmemi_space_close(struct shmemi_space *space);
int shmemi_space_map(struct shmemi_space *space, const struct shmemi_space_root *root, int flags,
                     const char *const *skip, uint64_t *device_p);
int shmemi_space_unmap(struct shmemi_space *space, uintptr_t source, int flags);
int shmemi_space_update(struct shmemi_space *space, uintptr_t source, int flags);
int shmemi_space_release(struct shmemi_space *space, uintptr_t source, int flags);
uint64_t shmemi_space_device(struct shmemi_space *space, uintptr_t address);

/* Close the spaces that are left; before the kinds of memory and the types are closed. */
void shmemi_spaces_close(void);

#endif
