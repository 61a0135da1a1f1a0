/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finding an MPI library among the objects of this process.
 */
#define _GNU_SOURCE
#include "bootstrap/mpi_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static void *handle; /* of an MPI library whose symbols are not global: interpreters load it that way */

static int copy_mpi_path(struct dl_phdr_info *object, size_t size, void *path)
{
    (void)size;
    const char *slash = object->dlpi_name ? strrchr(object->dlpi_name, '/') : NULL;
    if (!slash || strncmp(slash, "/libmpi", 7))
        return 0;
    snprintf(path, PATH_MAX, "%s", object->dlpi_name);
    return 1;
}

void *shmemi_mpi_symbol(const char *name)
{
    char path[PATH_MAX];
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (!symbol && !handle && dl_iterate_phdr(copy_mpi_path, path))
        handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    return !symbol && handle ? dlsym(handle, name) : symbol;
}

/* Call MPI_Initialized or MPI_Finalized. */
static bool ask(const char *name)
{
    int answer = 0;
    int (*query)(int *) = (int (*)(int *))shmemi_mpi_symbol(name);
    return query && !query(&answer) && answer;
}

enum shmemi_mpi_state shmemi_mpi_state(void)
{
    if (!shmemi_mpi_symbol("MPI_Initialized"))
        return SHMEMI_MPI_ABSENT;
    if (ask("MPI_Finalized"))
        return SHMEMI_MPI_FINALIZED;
    return ask("MPI_Initialized") ? SHMEMI_MPI_ACTIVE : SHMEMI_MPI_UNUSED;
}

const char *shmemi_mpi_family(void)
{
    if (!shmemi_mpi_symbol("MPI_Initialized"))
        return NULL;
    return shmemi_mpi_symbol("ompi_mpi_comm_world") ? "openmpi" : "mpich";
}
