/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHMEMI_COLLECTIVES_H
#define SHMEMI_COLLECTIVES_H

#include "shmem/internal.h"

/* End the job when the library is not initialised or the team is not the world. */
void shmemi_check_world(const char *routine, shmem_team_t team);

#endif
