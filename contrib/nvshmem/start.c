/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Start and end, and what is known about the job.
 */
#include "library.h"

#include "driver.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the two below */
static int n_starts;
static bool is_shmem_ours; /* to finalise */

static atomic_bool is_started;

void nvs_enter(const char *routine)
{
    if (!atomic_load_explicit(&is_started, memory_order_relaxed))
        shmemi_fatal("%s: called before nvshmem_init, or after nvshmem_finalize", routine);
    if (atomic_load_explicit(&nvs_units_behind, memory_order_relaxed))
        nvs_units_catch_up();
    nvs_complaint_tell();
}

static int refuse(int status, const char *cause)
{
    shmemi_error("nvshmemx_init_attr: %s", cause);
    return status;
}

/* With an id: whatever else there is to start by does not matter. */
static int start_shmem(const shmemx_init_attr_t *attr)
{
    int is_there = 0;
    shmem_query_initialized(&is_there);
    if (is_there && !attr->uniqueid)
        return NVSHMEMX_SUCCESS;
    if (shmemx_init_attr(attr, NULL)) /* which has said why */
        return NVSHMEMX_ERROR_INTERNAL;
    is_shmem_ours = true;
    return NVSHMEMX_SUCCESS;
}

int nvs_start_shmem(void)
{
    shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
    attr.thread_level = SHMEM_THREAD_MULTIPLE;
    return start_shmem(&attr);
}

int nvs_start_with_id(const void *id, int pe, int n_pes)
{
    shmemx_uniqueid_t ours;
    shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
    memcpy(&ours, id, sizeof ours);
    attr.thread_level = SHMEM_THREAD_MULTIPLE;
    attr.pe = pe;
    attr.n_pes = n_pes;
    attr.uniqueid = &ours;
    return start_shmem(&attr);
}

static int start_with(unsigned flags, const nvshmemx_init_attr_t *attr)
{
    const nvshmemx_uniqueid_args_t *args = attr ? &attr->args.uid_args : NULL;
    switch (flags) {
    case NVSHMEMX_INIT_WITH_MPI_COMM:
        if (!attr || !attr->mpi_comm)
            return refuse(NVSHMEMX_ERROR_INVALID_VALUE, "NVSHMEMX_INIT_WITH_MPI_COMM, but mpi_comm of attr is NULL");
        return nvs_start_with_mpi(attr->mpi_comm);
    case NVSHMEMX_INIT_WITH_UNIQUEID:
        if (!args || !args->id)
            return refuse(NVSHMEMX_ERROR_INVALID_VALUE, "NVSHMEMX_INIT_WITH_UNIQUEID, but attr has no id");
        return nvs_start_with_id(args->id, args->myrank, args->nranks);
    case NVSHMEMX_INIT_WITH_SHMEM:
    case 0:
        return nvs_start_shmem();
    case NVSHMEMX_INIT_THREAD_PES:
        return refuse(NVSHMEMX_ERROR_NOT_SUPPORTED, "NVSHMEMX_INIT_THREAD_PES: a PE is a process here");
    default:
        return refuse(NVSHMEMX_ERROR_INVALID_VALUE, "the flags ask for several ways to start, or for an unknown one");
    }
}

NVS_EXPORT int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t *uniqueid)
{
    shmemx_uniqueid_t ours;
    static_assert(sizeof ours == sizeof *uniqueid, "an id is carried as it is");
    if (!uniqueid)
        return refuse(NVSHMEMX_ERROR_INVALID_VALUE, "nvshmemx_get_uniqueid: NULL");
    if (nvs_settings_read() || shmemx_get_uniqueid(&ours)) /* which have said why */
        return NVSHMEMX_ERROR_INTERNAL;
    memcpy(uniqueid, &ours, sizeof ours);
    return NVSHMEMX_SUCCESS;
}

NVS_EXPORT int nvshmemx_set_attr_uniqueid_args(int myrank, int nranks, const nvshmemx_uniqueid_t *uniqueid,
                                               nvshmemx_init_attr_t *attr)
{
    if (!uniqueid || !attr || nranks < 1 || myrank < 0 || myrank >= nranks)
        return refuse(NVSHMEMX_ERROR_INVALID_VALUE, "nvshmemx_set_attr_uniqueid_args: NULL, or no such rank");
    attr->args.uid_args.id = (nvshmemx_uniqueid_t *)uniqueid;
    attr->args.uid_args.myrank = myrank;
    attr->args.uid_args.nranks = nranks;
    return NVSHMEMX_SUCCESS;
}

NVS_EXPORT int nvshmemx_set_attr_mpi_comm_args(void *mpi_comm, nvshmemx_init_attr_t *attr)
{
    if (!mpi_comm || !attr)
        return refuse(NVSHMEMX_ERROR_INVALID_VALUE, "nvshmemx_set_attr_mpi_comm_args: NULL");
    attr->mpi_comm = mpi_comm;
    return NVSHMEMX_SUCCESS;
}

static int start_first(unsigned flags, const nvshmemx_init_attr_t *attr)
{
    if (nvs_settings_read())
        return NVSHMEMX_ERROR_INVALID_VALUE;
    const int status = start_with(flags, attr);
    if (status)
        return status;
    shmemi_log_set_pe(shmem_my_pe());
    shmemi_log_abort = shmem_global_exit;
    nvs_settings_tell();
    if (nvs_teams_open())
        return NVSHMEMX_ERROR_OUT_OF_MEMORY;
    atomic_store(&is_started, true);
    nvs_units_refresh();
    return NVSHMEMX_SUCCESS;
}

static int start(unsigned flags, const nvshmemx_init_attr_t *attr)
{
    pthread_mutex_lock(&mutex);
    const int status = n_starts ? NVSHMEMX_SUCCESS : start_first(flags, attr);
    if (!status)
        n_starts++;
    pthread_mutex_unlock(&mutex);
    return status;
}

NVS_EXPORT void nvshmem_init(void)
{
    if (start(0, NULL))
        exit(EXIT_FAILURE);
}

/* All levels are granted, since MapSHMEM has them all. */
NVS_EXPORT int nvshmem_init_thread(int requested, int *provided)
{
    if (requested < NVSHMEM_THREAD_SINGLE || requested > NVSHMEM_THREAD_MULTIPLE || !provided)
        return refuse(NVSHMEMX_ERROR_INVALID_VALUE, "nvshmem_init_thread: no level of thread support, or NULL");
    const int status = start(0, NULL);
    if (!status)
        shmem_query_thread(provided);
    return status;
}

NVS_EXPORT int nvshmemx_init_attr(unsigned flags, nvshmemx_init_attr_t *attr)
{
    return start(flags, attr);
}

NVS_EXPORT int nvshmemx_hostlib_init_attr(unsigned flags, nvshmemx_init_attr_t *attr)
{
    return start(flags, attr);
}

NVS_EXPORT void nvshmem_query_thread(int *provided)
{
    nvs_enter("nvshmem_query_thread");
    shmem_query_thread(provided);
}

static void end(void)
{
    shmem_barrier_all();
    atomic_store(&is_started, false);
    nvs_units_close();
    nvs_slab_close();
    nvs_objects_close();
    nvs_teams_close();
    if (is_shmem_ours)
        shmem_finalize();
    is_shmem_ours = false;
}

NVS_EXPORT void nvshmem_finalize(void)
{
    pthread_mutex_lock(&mutex);
    if (n_starts && --n_starts == 0)
        end();
    pthread_mutex_unlock(&mutex);
}

NVS_EXPORT void nvshmemx_hostlib_finalize(void)
{
    nvshmem_finalize();
}

NVS_EXPORT int nvshmemx_init_status(void)
{
    if (!atomic_load(&is_started))
        return NVSHMEM_STATUS_NOT_INITIALIZED;
    if (shmemx_device_sharers() == 1)
        return NVSHMEM_STATUS_IS_INITIALIZED;
    return shmemx_kernels_may_wait(OSHM_MEMTYPE_CUDA) ? NVSHMEM_STATUS_FULL_MPG : NVSHMEM_STATUS_LIMITED_MPG;
}

NVS_EXPORT void nvshmem_global_exit(int status)
{
    nvs_enter("nvshmem_global_exit");
    shmem_global_exit(status);
}

NVS_EXPORT int nvshmem_my_pe(void)
{
    nvs_enter("nvshmem_my_pe");
    return shmem_my_pe();
}

NVS_EXPORT int nvshmem_n_pes(void)
{
    nvs_enter("nvshmem_n_pes");
    return shmem_n_pes();
}

NVS_EXPORT void nvshmem_info_get_version(int *major, int *minor)
{
    *major = NVSHMEM_MAJOR_VERSION;
    *minor = NVSHMEM_MINOR_VERSION;
}

NVS_EXPORT void nvshmem_info_get_name(char *name)
{
    strcpy(name, NVSHMEM_VENDOR_STRING);
}

NVS_EXPORT void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
    *major = NVSHMEM_VENDOR_MAJOR_VERSION;
    *minor = NVSHMEM_VENDOR_MINOR_VERSION;
    *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}

NVS_EXPORT void nvshmemi_mapshmem_prepare_launch(void)
{
    nvs_enter("nvshmemx_collective_launch");
}

NVS_EXPORT int nvshmemi_mapshmem_share_of_blocks(int blocks)
{
    nvs_enter("nvshmemx_collective_launch_query_gridsize");
    const int share = (blocks - shmemx_device_spare_blocks()) / shmemx_device_sharers();
    return share > 0 ? share : 0;
}

NVS_EXPORT int nvshmemi_mapshmem_launch_failed(int status, const char *routine, const char *cause)
{
    shmemi_error("%s: %s", routine, cause);
    return status;
}
