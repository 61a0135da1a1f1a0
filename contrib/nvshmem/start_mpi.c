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

/* What is known of a communicator, and the id that its first process sends to the others. */
struct meeting {
    int comparison; /* with MPI_COMM_WORLD */
    int rank, size;
    nvshmemx_uniqueid_t id;
};

enum { MPICH_BYTE = 0x4c00010d };

/* The routines take handles of either kind in their places: HANDLE is the type. 0, or an error's number of MPI. */
#define DEFINE_FAMILY(NAME, HANDLE)                                                                                    \
    static int look_at_##NAME(HANDLE communicator, HANDLE world, struct meeting *meeting)                              \
    {                                                                                                                  \
        int (*compare)(HANDLE, HANDLE, int *) = (int (*)(HANDLE, HANDLE, int *))find("MPI_Comm_compare");              \
        int (*rank)(HANDLE, int *) = (int (*)(HANDLE, int *))find("MPI_Comm_rank");                                    \
        int (*size)(HANDLE, int *) = (int (*)(HANDLE, int *))find("MPI_Comm_size");                                    \
        int error = compare(communicator, world, &meeting->comparison);                                                \
        error = error ? error : rank(communicator, &meeting->rank);                                                    \
        return error ? error : size(communicator, &meeting->size);                                                     \
    }                                                                                                                  \
    static int send_id_##NAME(HANDLE communicator, HANDLE bytes, struct meeting *meeting)                              \
    {                                                                                                                  \
        int (*broadcast)(void *, int, HANDLE, int, HANDLE) =                                                           \
            (int (*)(void *, int, HANDLE, int, HANDLE))find("MPI_Bcast");                                              \
        return broadcast(&meeting->id, sizeof meeting->id, bytes, 0, communicator);                                    \
    }
DEFINE_FAMILY(mpich, int)
DEFINE_FAMILY(openmpi, void *)

static int look_at(const mpi_handle *communicator, struct meeting *meeting)
{
    void *world = find("ompi_mpi_comm_world");
    return world ? look_at_openmpi(communicator->address, world, meeting)
                 : look_at_mpich(communicator->number, MPICH_COMM_WORLD, meeting);
}

static int send_id(const mpi_handle *communicator, struct meeting *meeting)
{
    void *bytes = find("ompi_mpi_byte");
    return bytes ? send_id_openmpi(communicator->address, bytes, meeting)
                 : send_id_mpich(communicator->number, MPICH_BYTE, meeting);
}

static bool is_mpi_active(void)
{
    int active = 0, over = 0;
    int (*initialized)(int *) = (int (*)(int *))find("MPI_Initialized");
    int (*finalized)(int *) = (int (*)(int *))find("MPI_Finalized");
    return initialized && finalized && !initialized(&active) && !finalized(&over) && active && !over;
}

/* The processes of any other communicator meet by an id. An id of zeros says that there is none. */
static int start_by_id(const mpi_handle *communicator, struct meeting *meeting)
{
    if (meeting->rank == 0 && nvshmemx_get_uniqueid(&meeting->id))
        meeting->id = (nvshmemx_uniqueid_t)NVSHMEMX_UNIQUEID_INITIALIZER;
    if (send_id(communicator, meeting))
        return refuse(NVSHMEMX_ERROR_INTERNAL, "MPI cannot broadcast");
    return nvs_start_with_id(&meeting->id, meeting->rank, meeting->size);
}

int nvs_start_with_mpi(void *communicator)
{
    struct meeting meeting = {0};
    if (!is_mpi_active())
        return refuse(NVSHMEMX_ERROR_INVALID_VALUE, "MPI is not initialised, or not in this process");
    if (look_at(communicator, &meeting))
        return refuse(NVSHMEMX_ERROR_INVALID_VALUE, "MPI does not accept the communicator");
    if (meeting.comparison > MPI_CONGRUENT)
        return start_by_id(communicator, &meeting);
    const int status = nvs_start_shmem();
    if (!status && shmem_my_pe() != meeting.rank)
        return refuse(NVSHMEMX_ERROR_INTERNAL, "the launcher's numbers of the PEs differ from the ranks of MPI");
    return status;
}
