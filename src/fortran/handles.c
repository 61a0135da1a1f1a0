/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Handles of the C library as variables for types.f90.in, since Fortran has no constants of type c_ptr; and a wrapper
 * for shmem_pcontrol, which Fortran cannot call because it takes a variable number of arguments.
 */
#include <shmemx.h>

extern const shmem_team_t shmemi_fortran_team_world, shmemi_fortran_team_shared, shmemi_fortran_team_invalid;
extern const shmem_ctx_t shmemi_fortran_ctx_default, shmemi_fortran_ctx_invalid;
void shmemi_fortran_pcontrol(int level);

const shmem_team_t shmemi_fortran_team_world = SHMEM_TEAM_WORLD;
const shmem_team_t shmemi_fortran_team_shared = SHMEM_TEAM_SHARED;
const shmem_team_t shmemi_fortran_team_invalid = SHMEM_TEAM_INVALID;
const shmem_ctx_t shmemi_fortran_ctx_default = SHMEM_CTX_DEFAULT;
const shmem_ctx_t shmemi_fortran_ctx_invalid = SHMEM_CTX_INVALID;

_Static_assert(sizeof(shmem_team_t) == sizeof(void *) && sizeof(shmem_ctx_t) == sizeof(void *),
               "handles are type(c_ptr) in Fortran");
_Static_assert(SHMEMX_DEEP_HEADER == 128 && SHMEMX_DEEP_IMAGE == 0 && SHMEMX_DEEP_BASE == 1 &&
                   SHMEMX_DEEP_BASE_PLUS == 2 && SHMEMX_DEEP_TCPY == 3 && SHMEMX_DEEP_PCPY == 4 &&
                   SHMEMX_DEEP_COUNTED == 0 && SHMEMX_DEEP_STRUCTURED == 1 && SHMEMX_DEEP_EXPLICIT == 2 &&
                   SHMEMX_DEEP_TO == 1 && SHMEMX_DEEP_FROM == 2 && SHMEMX_DEEP_ALWAYS == 4,
               "deep.f90.in has the same numbers");
_Static_assert(sizeof(long) == 8, "INTEGER(8) stands for long in Fortran");

void shmemi_fortran_pcontrol(int level)
{
    shmem_pcontrol(level);
}
