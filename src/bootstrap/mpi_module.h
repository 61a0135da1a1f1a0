/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the library needs from MPI at start-up. MPI implementations differ in their binary interface, so the library is
 * linked with none: a module is built for each, and loaded at run time.
 *
 * To build one for another MPI, with its compiler: mpicc -shared -fPIC -I src -o my_mpi.so src/bootstrap/mpi_module.c;
 * SHMEM_BOOTSTRAP=mpi:FILE names it to the library.
 */
#ifndef SHMEMI_MPI_MODULE_H
#define SHMEMI_MPI_MODULE_H

#include <stdbool.h>

enum { SHMEMI_MPI_MODULE_VERSION = 1 };
#define SHMEMI_MPI_MODULE_SYMBOL "shmemi_mpi_module"

/* Functions return 0 or -errno; after an error, error() returns MPI's message. */
struct shmemi_mpi_module {
    int version;
    const char *family; /* as returned by shmemi_mpi_family */
    /* Initialise MPI unless that was done, and make our own communicator. *initialized_here: this call did it. */
    int (*open)(int *rank_p, int *size_p, bool *initialized_here);
    /* Free the communicator; does nothing when MPI is finalised already. */
    void (*close)(void);
    /* At the end of the process: finalise MPI, if open initialised it and it has not been finalised. */
    void (*leave)(void);
    /* Collective: gather the number of bytes of every process. -ETIMEDOUT after `timeout` seconds (0: never). */
    int (*gather_size)(int size, int *sizes, int timeout);
    /* Collective: gather the bytes of all processes, those of each at its offset. */
    int (*gather_bytes)(const void *mine, void *all, const int *sizes, const int *offsets);
    /* End the job; returns when MPI is finalised already. */
    void (*abort)(int status);
    const char *(*error)(void);
    /* MPI_Initialized of the MPI that the module has been bound to: it must be the program's. */
    int (*initialized)(int *flag);
};

#endif
