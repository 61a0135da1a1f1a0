/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ways to start, and what is refused. Usage: start WAY. Built with MPI for those that begin with mpi.
 */
#include "expect.h"

#include <cstdlib>

#ifdef WITH_MPI
#include <mpi.h>

static int with_mpi(const char *way)
{
    int rank;
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm communicator = MPI_COMM_WORLD;
    if (!strcmp(way, "mpi-copy"))
        MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    if (!strcmp(way, "mpi-self"))
        communicator = MPI_COMM_SELF;
    if (!strcmp(way, "mpi-turned"))
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &communicator);
    MPI_Comm_rank(communicator, &rank);
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    int size, status = 0;
    MPI_Comm_size(communicator, &size);
    if (!strcmp(way, "mpi-id")) {
        status = rank == 0 && nvshmemx_get_uniqueid(&id);
        MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, communicator);
        status |= nvshmemx_set_attr_uniqueid_args(rank, size, &id, &attr);
        status |= nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr);
    } else {
        attr.mpi_comm = &communicator;
        status = nvshmemx_init_attr(NVSHMEMX_INIT_WITH_MPI_COMM, &attr);
    }
    if (status)
        return 2;
    EXPECT(nvshmem_my_pe() == rank && nvshmem_n_pes() == size);
    int *word = static_cast<int *>(nvshmem_malloc(sizeof(int)));
    nvshmem_int_p(word, rank, (rank + 1) % size);
    nvshmem_barrier_all();
    EXPECT(*word == (rank + size - 1) % size);
    status = finish();
    MPI_Finalize();
    return status;
}
#else
static int with_mpi(const char *)
{
    return 3;
}
#endif

static int refused(unsigned flags)
{
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    const int status = nvshmemx_init_attr(flags, &attr);
    return status ? 2 : 0;
}

static int in_levels()
{
    int provided = -1, asked = -1;
    if (nvshmem_init_thread(NVSHMEM_THREAD_MULTIPLE, &provided))
        return 1;
    nvshmem_query_thread(&asked);
    EXPECT(provided == NVSHMEM_THREAD_MULTIPLE && asked == provided);
    return finish();
}

/* A second start is counted, and its end leaves the library as it is. */
static int twice()
{
    EXPECT(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED);
    nvshmem_init();
    nvshmemx_hostlib_init_attr(0, NULL);
    nvshmemx_hostlib_finalize();
    EXPECT(nvshmemx_init_status() == NVSHMEM_STATUS_IS_INITIALIZED);
    const int status = finish();
    return status || nvshmemx_init_status() != NVSHMEM_STATUS_NOT_INITIALIZED;
}

/* What needs CUDA says so where there is none. */
static int without_cuda(const char *what)
{
    int word = 0;
    nvshmem_init();
    int *own = static_cast<int *>(nvshmem_malloc(sizeof(int)));
    EXPECT(nvshmem_ptr(own, nvshmem_my_pe()) == own && nvshmem_ptr(&word, 0) == NULL);
    EXPECT(nvshmemx_mc_ptr(NVSHMEM_TEAM_WORLD, own) == NULL);
    EXPECT(nvshmemx_buffer_register_symmetric(&word, sizeof word, 0) == NULL);
    EXPECT(nvshmemx_buffer_unregister_symmetric(&word, sizeof word) == NVSHMEMX_ERROR_INVALID_VALUE);
    EXPECT(nvshmemx_cumodule_init(NULL) != NVSHMEMX_SUCCESS && nvshmemx_culibrary_init(NULL) != NVSHMEMX_SUCCESS);
    EXPECT(nvshmemx_barrier_on_stream(NVSHMEM_TEAM_WORLD, NULL) == NVSHMEMX_ERROR_NOT_SUPPORTED);
    EXPECT(nvshmemx_int_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, own, own, 1, NULL) == NVSHMEMX_ERROR_NOT_SUPPORTED);
    EXPECT(nvshmemx_buffer_register(&word, sizeof word) == 0 && nvshmemx_buffer_unregister(&word) == 0);
    EXPECT(nvshmemx_buffer_unregister(&word) == NVSHMEMX_ERROR_INVALID_VALUE);
    if (!strcmp(what, "stream"))
        nvshmemx_quiet_on_stream(NULL);
    return finish();
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    if (!strncmp(way, "mpi", 3))
        return with_mpi(way);
    if (!strcmp(way, "thread-pes"))
        return refused(NVSHMEMX_INIT_THREAD_PES);
    if (!strcmp(way, "no-communicator"))
        return refused(NVSHMEMX_INIT_WITH_MPI_COMM);
    if (!strcmp(way, "no-id"))
        return refused(NVSHMEMX_INIT_WITH_UNIQUEID);
    if (!strcmp(way, "two-ways"))
        return refused(NVSHMEMX_INIT_WITH_MPI_COMM | NVSHMEMX_INIT_WITH_SHMEM);
    if (!strcmp(way, "levels"))
        return in_levels();
    if (!strcmp(way, "twice"))
        return twice();
    if (!strcmp(way, "too-early"))
        return nvshmem_my_pe();
    if (!strcmp(way, "shmem"))
        return nvshmemx_init_attr(NVSHMEMX_INIT_WITH_SHMEM, NULL) ? 1 : finish();
    return without_cuda(way);
}
