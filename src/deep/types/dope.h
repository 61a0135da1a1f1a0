/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors of Fortran arrays inside objects: the C descriptor of Fortran 2018, and gfortran's own.
 */
#ifndef SHMEMI_DEEP_DOPE_H
#define SHMEMI_DEEP_DOPE_H

#include "deep/types/type.h"

/* Bytes of a descriptor of this rank; 0 if the rank is not possible. For a scalar gfortran uses a plain pointer. */
size_t shmemi_dope_size(int kind, size_t rank);

/* Find the address of the array, which is the descriptor's first word, and its number of elements, 0 if it is not
 * allocated or associated. The elements of an array of strings are characters. Returns 0, -EOVERFLOW, or -EINVAL with a
 * cause in words: a rank or element size that differs from the type's, a negative extent, gaps between elements. The
 * descriptor need not be aligned and may hold anything. */
int shmemi_dope_read(int kind, size_t rank, const struct shmemi_type *element, const void *descriptor,
                     uintptr_t *address_p, size_t *n_p, const char **cause_p);

#endif
