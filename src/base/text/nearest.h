/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The known name that is most like an unknown one, for "did you mean".
 */
#ifndef SHMEMI_NEAREST_H
#define SHMEMI_NEAREST_H

#include <stddef.h>

/* Begin with {.unknown = name} and offer every known name. Then .name is the nearest of them, the first one if several
 * are equally near, or NULL. */
struct shmemi_nearest {
    const char *unknown;
    const char *name;
    size_t distance;
};

void shmemi_nearest_offer(struct shmemi_nearest *nearest, const char *known);

#endif
