/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interface for FORTRAN 77: how its routines are defined. They have no prototypes that anybody could include, since
 * their callers are compiled from Fortran: everything comes by reference, lengths of CHARACTER arguments as further
 * arguments at the end, which the routines that do not need them ignore.
 */
#ifndef SHMEMI_F77_H
#define SHMEMI_F77_H

#include <shmem.h>

#include <stdint.h>

/* Begins the definition of name_, the symbol that Fortran compilers make of NAME, and of name__, which some make of names
 * that contain an underscore (gfortran -fsecond-underscore). */
#define SHMEMI_F77(ret, name, params)                                                                                  \
    ret name##_ params;                                                                                                \
    ret name##__ params __attribute__((alias(#name "_")));                                                             \
    ret name##_ params

typedef float _Complex complex_float;
typedef double _Complex complex_double;

/* A pSync in the C library's longs, whose alignment an array of default integers need not have: so the SYNC_SIZE of
 * shmem.fh have room for one more integer. All PEs find the same place, since the array is symmetric. */
static inline long *shmemi_f77_sync(int *pSync)
{
    return (long *)(((uintptr_t)pSync + sizeof(long) - 1) / sizeof(long) * sizeof(long));
}

#endif
