/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of libnvshmem_host share.
 *
 * The library stands on MapSHMEM's public routines and, for memory and modules, on the CUDA driver. Its callers name
 * symmetric memory by the address that kernels use; MapSHMEM's routines by the one that shmmap has returned. So each routine
 * translates, and calls the one of MapSHMEM that does the work. On machines without CUDA both addresses are the same.
 */
#ifndef NVS_LIBRARY_H
#define NVS_LIBRARY_H

#include "host_types.h"

#include <mapshmem_nvshmem/unit_state.h>
#include <nvshmem_host.h>
#include <shmemx_device.h>

#include <stdatomic.h>
#include <stdbool.h>

#include "base/log.h"

#pragma GCC visibility push(hidden)

#define NVS_EXPORT __attribute__((visibility("default")))

enum { NVS_TEAMS = 32 }; /* of a PE at a time, the predefined ones included */

/* ---- start.c ----------------------------------------------------------------------------------------------------- */

/* Ends the job if the library has not been started; and lets units know what they have not been told. */
void nvs_enter(const char *routine);
/* Start MapSHMEM, if the program has not. Returns an nvshmemx_status, after a line. */
int nvs_start_shmem(void);
/* By a unique id of 128 bytes. */
int nvs_start_with_id(const void *id, int pe, int n_pes);
/* With NVSHMEMX_INIT_WITH_MPI_COMM. */
int nvs_start_with_mpi(void *communicator);

/* ---- settings.c -------------------------------------------------------------------------------------------------- */

extern size_t nvs_symmetric_size; /* NVSHMEM_SYMMETRIC_SIZE in bytes */

/* Read the variables NVSHMEM_*, and set those of MapSHMEM that follow from them, before it starts. */
int nvs_settings_read(void);
/* One line on variables that have no effect. */
void nvs_settings_tell(void);

/* ---- slab.c and objects.c: symmetric memory ----------------------------------------------------------------------- */

struct nvs_object {
    uintptr_t own; /* address of this PE's copy for kernels and the program */
    size_t size;
    char *mapped;              /* address for MapSHMEM's routines */
    shmemx_device_view_t view; /* its size is 0 until a unit has asked for it */
};

extern struct nvs_object nvs_slab; /* the first slab; of size 0 until the first allocation */

void nvs_slab_close(void);
/* The work area of a team for kernels, in the slab: bytes at *mapped, or 0 if there is no slab yet. */
size_t nvs_slab_area(nvshmem_team_t team, void **mapped);
/* Fill it with zeros. */
int nvs_slab_clear_area(nvshmem_team_t team);

/* The address for MapSHMEM's routines; addresses of other memory are returned as they are, for those routines to judge. */
void *nvs_registered_symmetric(const void *address);
static inline void *nvs_symmetric(const void *address)
{
    const size_t offset = (size_t)((uintptr_t)address - nvs_slab.own);
    return offset < nvs_slab.size ? nvs_slab.mapped + offset : nvs_registered_symmetric(address);
}

/* More than there is, if the number of bytes does not fit. */
static inline size_t nvs_bytes(size_t nelems, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(nelems, size, &bytes) ? SIZE_MAX : bytes;
}

/* Symmetric memory beside the first slab: registered buffers, and further slabs. Is there room for one more? A call of
 * nvs_object_insert follows, by no other thread. */
bool nvs_objects_have_room(void);
void nvs_object_insert(const struct nvs_object *object);
/* Take out the one that begins at the address. */
void nvs_object_take_out(uintptr_t own);
/* All of them, sorted by address; the views are up to date. */
int nvs_objects_views(const shmemx_device_view_t **views, unsigned *n);
void nvs_objects_close(void);

/* ---- teams_table.c ----------------------------------------------------------------------------------------------- */

int nvs_teams_open(void);
void nvs_teams_close(void);
/* SHMEM_TEAM_INVALID for a number that is no team of this PE. */
shmem_team_t nvs_team(nvshmem_team_t team);
/* For kernels: NVS_TEAMS entries. */
int nvs_teams_views(shmemx_device_team_t *views);

/* The least or largest of the team's values, or those bits that all have: on all members. */
int nvs_agree_min(shmem_team_t team, int value);
int nvs_agree_max(shmem_team_t team, int value);
unsigned nvs_agree_and(shmem_team_t team, unsigned value);

/* ---- units.c: what kernels know ----------------------------------------------------------------------------------- */

extern atomic_bool nvs_units_behind; /* some unit has not the present state */

/* The state has changed: tell all units and modules. */
void nvs_units_refresh(void);
/* Tell those that do not have it, if a CUDA context is current. */
void nvs_units_catch_up(void);
void nvs_units_close(void);

/* ---- complaints.c: why a kernel has ended itself ------------------------------------------------------------------ */

/* Where kernels say it; NULL: it cannot be page-locked. */
struct nvshmemi_mapshmem_complaint *nvs_complaint_place(void);
/* Log it, once, if one has. Any thread. */
void nvs_complaint_tell(void);

#pragma GCC visibility pop

#endif
