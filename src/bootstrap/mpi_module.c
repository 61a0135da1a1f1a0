/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The module for start-up by MPI, compiled once for each MPI (bootstrap_openmpi.so, bootstrap_mpich.so). It shares
 * nothing with the library but mpi_module.h.
 */
#include "bootstrap/mpi_module.h"

#include <mpi.h>

#include <errno.h>
#include <time.h>

#ifdef OPEN_MPI
#define FAMILY "openmpi"
#else
#define FAMILY "mpich"
#endif

static MPI_Comm communicator = MPI_COMM_NULL;
static bool initialized_by_us;
static char error_text[MPI_MAX_ERROR_STRING + 1];

static int keep_error(int code)
{
    int length;
    if (code == MPI_SUCCESS)
        return 0;
    if (MPI_Error_string(code, error_text, &length) != MPI_SUCCESS)
        error_text[0] = '\0';
    return -EIO;
}

static bool is_active(void)
{
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    return initialized && !finalized;
}

static int initialize(void)
{
    int provided;
    int rc = keep_error(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
    if (!rc)
        initialized_by_us = true;
    return rc;
}

static int open_communicator(int *rank_p, int *size_p, bool *initialized_here)
{
    *initialized_here = !is_active();
    int rc = *initialized_here ? initialize() : 0;
    if (!rc)
        rc = keep_error(MPI_Comm_dup(MPI_COMM_WORLD, &communicator));
    if (!rc)
        rc = keep_error(MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN));
    if (!rc)
        rc = keep_error(MPI_Comm_rank(communicator, rank_p));
    if (!rc)
        rc = keep_error(MPI_Comm_size(communicator, size_p));
    return rc;
}

static void close_communicator(void)
{
    if (communicator != MPI_COMM_NULL && is_active())
        MPI_Comm_free(&communicator);
    communicator = MPI_COMM_NULL;
}

static void leave(void)
{
    if (initialized_by_us && is_active())
        MPI_Finalize();
    initialized_by_us = false;
}

/* Wait in small steps, up to the timeout: a process that failed before this must not make the others hang. */
static int complete(MPI_Request *request, int timeout)
{
    const struct timespec pause = {.tv_nsec = 100000};
    double start = MPI_Wtime();
    for (;;) {
        int done = 0;
        int rc = keep_error(MPI_Test(request, &done, MPI_STATUS_IGNORE));
        if (rc || done)
            return rc;
        if (timeout && MPI_Wtime() - start > timeout)
            return -ETIMEDOUT;
        nanosleep(&pause, NULL);
    }
}

static int gather_size(int size, int *sizes, int timeout)
{
    MPI_Request request;
    int rc = keep_error(MPI_Iallgather(&size, 1, MPI_INT, sizes, 1, MPI_INT, communicator, &request));
    return rc ? rc : complete(&request, timeout);
}

static int gather_bytes(const void *mine, void *all, const int *sizes, const int *offsets)
{
    int rank;
    int rc = keep_error(MPI_Comm_rank(communicator, &rank));
    if (rc)
        return rc;
    return keep_error(MPI_Allgatherv(mine, sizes[rank], MPI_BYTE, all, sizes, offsets, MPI_BYTE, communicator));
}

static void abort_job(int status)
{
    if (is_active())
        MPI_Abort(MPI_COMM_WORLD, status);
}

static const char *last_error(void)
{
    return error_text;
}

extern const struct shmemi_mpi_module shmemi_mpi_module;
const struct shmemi_mpi_module shmemi_mpi_module = {
    .version = SHMEMI_MPI_MODULE_VERSION,
    .family = FAMILY,
    .open = open_communicator,
    .close = close_communicator,
    .leave = leave,
    .gather_size = gather_size,
    .gather_bytes = gather_bytes,
    .abort = abort_job,
    .error = last_error,
    .initialized = MPI_Initialized,
};
