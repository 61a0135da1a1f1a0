/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Starting with a communicator of MPI. The library is linked with no MPI: it calls the one that the program has loaded, by
 * functions whose binary interface is the same in all implementations of a family.
 */
#define _GNU_SOURCE
#include "library.h"

#include <dlfcn.h>

/* A communicator is an int with MPICH and its kin, and an address with Open MPI. */
typedef union {
    int number;
    void *address;
} mpi_handle;

enum { MPICH_COMM_WORLD = 0x44000000, MPI_CONGRUENT = 1 }; /* IDENT is 0: the same PEs, in the same order */

static int refuse(int status, const char *cause)
{
    shmemi_error("nvshmemx_init_attr: NVSHMEMX_INIT_WITH_MPI_COMM: %s", cause);
    return status;
}

/* In the program and what it is linked with, or in a library that it has loaded for itself. */
static void *find(const char *name)
{
    static const char *const libraries[] = {"libmpi.so.40", "libmpi.so.12", "libmpich.so.12"};
    void *found = dlsym(RTLD_DEFAULT, name);
    for (size_t i = 0; !found && i < sizeof libraries / sizeof libraries[0]; i++) {
        void *library = dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD);
        if (!library)
            continue;
        found = dlsym(library, name);
        dlclose(library); /* the program's own handle keeps it */
    }
    return found;
}

/* How the communicator compares with MPI_COMM_WORLD, and this process's rank in it. 0, or an error's number of MPI. */
static int look_at(const mpi_handle *communicator, int *result, int *rank)
{
    void *world = find("ompi_mpi_comm_world");
    if (world) {
        int (*compare)(void *, void *, int *) = (int (*)(void *, void *, int *))find("MPI_Comm_compare");
        int (*get_rank)(void *, int *) = (int (*)(void *, int *))find("MPI_Comm_rank");
        const int error = compare(communicator->address, world, result);
        return error ? error : get_rank(communicator->address, rank);
    }
    int (*compare)(int, int, int *) = (int (*)(int, int, int *))find("MPI_Comm_compare");
    int (*get_rank)(int, int *) = (int (*)(int, int *))find("MPI_Comm_rank");
    const int error = compare(communicator->number, MPICH_COMM_WORLD, result);
    return error ? error : get_rank(communicator->number, rank);
}

static bool is_mpi_active(void)
{
    int active = 0, over = 0;
    int (*initialized)(int *) = (int (*)(int *))find("MPI_Initialized");
    int (*finalized)(int *) = (int (*)(int *))find("MPI_Finalized");
    return initialized && finalized && find("MPI_Comm_compare") && find("MPI_Comm_rank") && !initialized(&active) &&
           !finalized(&over) && active && !over;
}

int nvs_start_with_mpi(void *communicator)
{
    int result, rank;
    if (!is_mpi_active())
        return refuse(NVSHMEMX_ERROR_INVALID_VALUE, "MPI is not initialised, or not in this process");
    if (look_at(communicator, &result, &rank))
        return refuse(NVSHMEMX_ERROR_INVALID_VALUE, "MPI does not accept the communicator");
    if (result > MPI_CONGRUENT)
        return refuse(NVSHMEMX_ERROR_NOT_SUPPORTED,
                      "the communicator has not all processes of MPI_COMM_WORLD in the same order");
    const int status = nvs_start_shmem();
    if (!status && shmem_my_pe() != rank)
        return refuse(NVSHMEMX_ERROR_INTERNAL, "the launcher's numbers of the PEs differ from the ranks of MPI");
    return status;
}
