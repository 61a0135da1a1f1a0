/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The known name that is most like an unknown one, for "did you mean".
 */
#ifndef SHMEMI_NEAREST_H
#define SHMEMI_NEAREST_H

#include <stddef.h>

/* Begin with {.unknown = name}; offer every known name; name is then the nearest, the first of equals, or NULL. */
struct shmemi_nearest {
    const char *unknown;
    const char *name;
    size_t distance;
};

void shmemi_nearest_offer(struct shmemi_nearest *nearest, const char *known);

#endif
