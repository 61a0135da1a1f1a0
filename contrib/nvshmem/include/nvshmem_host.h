/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's part of the NVSHMEM interface on MapSHMEM (doc/nvshmem.md): what a library or program without kernels of its
 * own needs. nvshmem.h includes it, and the device calls in files that are compiled for a GPU.
 *
 * Between initialisation and finalisation any thread may call, as the level of thread support allows; calls that several
 * PEs make together are made by one thread of each.
 */
#ifndef NVSHMEM_HOST_H
#define NVSHMEM_HOST_H

#include <mapshmem_nvshmem/nvshmem_types.h>

#include <mapshmem_nvshmem/shared_calls.h>

#ifdef __cplusplus
extern "C" {
#endif

#define nvshmem_sync nvshmem_team_sync

/* End the whole job with this status. */
void nvshmem_global_exit(int status);

/* A multicast address: NULL, since there are none here. */
void *nvshmemx_mc_ptr(nvshmem_team_t team, const void *ptr);

/* ---- Start and end -----------------------------------------------------------------------------------------------
 *
 * nvshmem_init starts MapSHMEM if the program has not done so, under a launcher, or beside an MPI that has been
 * initialised. init_attr starts with what flags and attr tell:
 *
 *   NVSHMEMX_INIT_WITH_MPI_COMM   attr->mpi_comm points to an MPI_Comm: its ranks are the PEs
 *   NVSHMEMX_INIT_WITH_UNIQUEID   what nvshmemx_set_attr_uniqueid_args has stored in attr
 *   NVSHMEMX_INIT_WITH_SHMEM      the program has called shmem_init, or wants it to be called
 *
 * Flags of 0 mean nvshmem_init. hostlib_init_attr is another name of it, as nothing else is to be started for kernels. Each
 * further start of a program that runs already is counted, and ended by a finalize of its own. The GPU is the one that the
 * calling thread has chosen when the first of nvshmem_malloc, calloc, align and buffer_register_symmetric is called.
 *
 * Those with a status return NVSHMEMX_SUCCESS or one of the errors, after a line on stderr. init_thread sets *provided to the
 * level granted. finalize completes all communication, and frees the symmetric heap. */
void nvshmem_init(void);
int nvshmem_init_thread(int requested, int *provided);
void nvshmem_query_thread(int *provided);
void nvshmem_finalize(void);
int nvshmemx_init_attr(unsigned int flags, nvshmemx_init_attr_t *attr);
int nvshmemx_hostlib_init_attr(unsigned int flags, nvshmemx_init_attr_t *attr);
void nvshmemx_hostlib_finalize(void);
int nvshmemx_init_status(void); /* one of nvshmemx_init_status_t */

/* Any process may make an id, which serves one start; it reaches the others by the program's own means, and the process has to
 * live as long as the job (shmemx_get_uniqueid). Local. */
int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t *uniqueid);
int nvshmemx_set_attr_uniqueid_args(int myrank, int nranks, const nvshmemx_uniqueid_t *uniqueid,
                                    nvshmemx_init_attr_t *attr);
int nvshmemx_set_attr_mpi_comm_args(void *mpi_comm, nvshmemx_init_attr_t *attr);

/* Make device calls usable in a module that the program has loaded itself, in the context that is current; local. */
int nvshmemx_cumodule_init(CUmodule module);
int nvshmemx_cumodule_finalize(CUmodule module);
int nvshmemx_culibrary_init(CUlibrary library);
int nvshmemx_culibrary_finalize(CUlibrary library);

/* ---- Memory ------------------------------------------------------------------------------------------------------
 *
 * The symmetric heap is one allocation on the GPU of NVSHMEM_SYMMETRIC_SIZE bytes (1G; with K, M, G or T), made by the first
 * call. Without CUDA it is host memory. Collective over all PEs with the same arguments; a barrier on exit, free: on
 * entry. Blocks begin at multiples of 512 bytes. NULL for size 0, and, with a line, if there is no room. */
void *nvshmem_malloc(size_t size);
void *nvshmem_calloc(size_t count, size_t size);
void *nvshmem_align(size_t alignment, size_t size); /* a power of two */
void nvshmem_free(void *ptr);

/* Make GPU memory of the program symmetric: any allocation, not of cuMemCreate only. Collective, with equal sizes; flags is
 * 0. Returns buf_ptr, which host calls and kernels use from then on, or NULL after a line. */
void *nvshmemx_buffer_register_symmetric(void *buf_ptr, size_t size, int flags);
int nvshmemx_buffer_unregister_symmetric(void *buf_ptr, size_t size);

/* Announce memory that will be the local side of transfers. Nothing has to be done for GPU memory; host memory is
 * page-locked (shmemx_prepare). Local. */
int nvshmemx_buffer_register(void *addr, size_t length);
int nvshmemx_buffer_unregister(void *addr);
void nvshmemx_buffer_unregister_all(void);

/* ---- Teams -------------------------------------------------------------------------------------------------------
 *
 * As in shmem.h. A program has at most 32 of them at a time, the predefined ones included. NVSHMEM_TEAM_SHARED and
 * NVSHMEMX_TEAM_NODE are the PEs of this node; NVSHMEMX_TEAM_SAME_MYPE_NODE those that have this PE's number in their nodes,
 * and invalid where nodes have different numbers of PEs. */
void nvshmem_team_get_config(nvshmem_team_t team, nvshmem_team_config_t *config);
int nvshmem_team_split_strided(nvshmem_team_t parent_team, int PE_start, int PE_stride, int PE_size,
                               const nvshmem_team_config_t *config, long config_mask, nvshmem_team_t *new_team);
int nvshmem_team_split_2d(nvshmem_team_t parent_team, int xrange, const nvshmem_team_config_t *xaxis_config,
                          long xaxis_mask, nvshmem_team_t *xaxis_team, const nvshmem_team_config_t *yaxis_config,
                          long yaxis_mask, nvshmem_team_t *yaxis_team);
void nvshmem_team_destroy(nvshmem_team_t team);

#ifdef __cplusplus
}
#endif

#include <mapshmem_nvshmem/nvshmem_streams.h>

#include <mapshmem_nvshmem/nvshmem_launch.h>

#endif
