/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Descriptors of Fortran arrays inside of objects: the C descriptor of Fortran 2018 and gfortran's own.
 */
#ifndef SHMEMI_DEEP_DOPE_H
#define SHMEMI_DEEP_DOPE_H

#include "deep/types/type.h"

/* Bytes of a descriptor of this rank; 0 for a rank that there is not. gfortran has a plain pointer for a scalar. */
size_t shmemi_dope_size(enum shmemi_field_kind kind, size_t rank);

/* What it points to: the address, which is the descriptor's first word, and the number of elements in a dense array; 0
 * when it is not allocated or associated. The elements of an array of strings are their characters. -EINVAL with a cause
 * in words: a rank or element size that is not the type's, an extent that is negative, gaps between elements.
 * -EOVERFLOW. The descriptor may lie at any address and hold anything. */
int shmemi_dope_read(enum shmemi_field_kind kind, size_t rank, const struct shmemi_type *element,
                     const void *descriptor, uintptr_t *address_p, size_t *n_p, const char **cause_p);

#endif
