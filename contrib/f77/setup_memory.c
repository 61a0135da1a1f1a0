/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interface for FORTRAN 77: setup, queries, and memory, whose routines have other arguments than those of C.
 */
#include "contrib/f77/f77.h"

#include <stdio.h>
#include <string.h>

/* ---- setup and queries ------------------------------------------------------------------------------------------- */

SHMEMI_F77(void, start_pes, (const int *npes))
{
    start_pes(*npes);
}

SHMEMI_F77(void, shmem_global_exit, (const int *status))
{
    shmem_global_exit(*status);
}

SHMEMI_F77(int, shmem_my_pe, (void))
{
    return shmem_my_pe();
}

SHMEMI_F77(int, shmem_n_pes, (void))
{
    return shmem_n_pes();
}

SHMEMI_F77(int, my_pe, (void))
{
    return shmem_my_pe();
}

SHMEMI_F77(int, num_pes, (void))
{
    return shmem_n_pes();
}

SHMEMI_F77(void, shmem_info_get_version, (int *major, int *minor))
{
    shmem_info_get_version(major, minor);
}

/* The name is padded with blanks; a variable that is too short receives its beginning. */
SHMEMI_F77(void, shmem_info_get_name, (char *name, size_t length))
{
    char text[SHMEM_MAX_NAME_LEN] = "";
    shmem_info_get_name(text);
    size_t used = strlen(text) < length ? strlen(text) : length;
    memcpy(name, text, used);
    memset(name + used, ' ', length - used);
}

/* LOGICAL results are 0 and 1. */
SHMEMI_F77(int, shmem_pe_accessible, (const int *pe))
{
    return shmem_pe_accessible(*pe) != 0;
}

SHMEMI_F77(int, shmem_addr_accessible, (const void *address, const int *pe))
{
    return shmem_addr_accessible(address, *pe) != 0;
}

/* The value of a Cray pointer. */
SHMEMI_F77(void *, shmem_ptr, (const void *dest, const int *pe))
{
    return shmem_ptr(dest, *pe);
}

SHMEMI_F77(void, shmem_pcontrol, (const int *level))
{
    shmem_pcontrol(*level);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

enum { WORD_BYTES = 4, IS_DONE = 0, HAS_MOVED = 1, BAD_LENGTH = -1, NO_MEMORY = -2, NOT_OF_HEAP = -3 };

/* Tell the caller, or end the job if it has asked for that. */
static void report(const char *routine, int *errcode, int error, int aborts)
{
    static const char *const text[] = {"", "the length is not positive", "no memory is left in the symmetric heap",
                                       "the address is not one of the symmetric heap"};
    *errcode = error;
    if (error >= 0 || !aborts)
        return;
    fprintf(stderr, "%s: %s, and the caller asks to abort then\n", routine, text[-error]);
    shmem_global_exit(1);
}

/* addr: a Cray pointer; length: in words of 32 bits. */
SHMEMI_F77(void, shpalloc, (void **addr, const int *length, int *errcode, const int *aborts))
{
    *addr = *length > 0 ? shmem_malloc((size_t)*length * WORD_BYTES) : NULL;
    report("SHPALLOC", errcode, *addr ? IS_DONE : *length > 0 ? NO_MEMORY : BAD_LENGTH, *aborts);
}

SHMEMI_F77(void, shpdeallc, (void **addr, int *errcode, const int *aborts))
{
    if (!*addr || !shmem_addr_accessible(*addr, shmem_my_pe())) {
        report("SHPDEALLC", errcode, NOT_OF_HEAP, *aborts);
        return;
    }
    shmem_free(*addr);
    *errcode = IS_DONE;
}

/* Change the length of a block, which may move. */
SHMEMI_F77(void, shpclmove, (void **addr, const int *length, int *status, const int *aborts))
{
    if (*length <= 0 || !*addr || !shmem_addr_accessible(*addr, shmem_my_pe())) {
        report("SHPCLMOVE", status, *length <= 0 ? BAD_LENGTH : NOT_OF_HEAP, *aborts);
        return;
    }
    void *moved = shmem_realloc(*addr, (size_t)*length * WORD_BYTES);
    report("SHPCLMOVE", status, !moved ? NO_MEMORY : moved == *addr ? IS_DONE : HAS_MOVED, *aborts);
    if (moved)
        *addr = moved;
}
