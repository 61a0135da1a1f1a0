/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Static data: the writable segment (.data, .bss) of the executable, which is symmetric by the specification [3].
 */
#ifndef SHMEMI_STATIC_DATA_H
#define SHMEMI_STATIC_DATA_H

#include <stddef.h>

/* Find where it lies in this process. The size is 0 when the executable has none. */
void shmemi_static_data_find(char **base_p, size_t *size_p);

#endif
