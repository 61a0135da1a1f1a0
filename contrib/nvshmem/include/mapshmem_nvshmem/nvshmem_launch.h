/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collective launches. Included by nvshmem_host.h; not for direct use. They are inline functions of the program, since only
 * its own CUDA runtime knows its kernels.
 */
#ifndef MAPSHMEM_NVSHMEM_LAUNCH_H
#define MAPSHMEM_NVSHMEM_LAUNCH_H

#ifdef __cplusplus
extern "C" {
#endif

/* For the functions below: let the units of the program know the state that kernels need. */
void nvshmemi_mapshmem_prepare_launch(void);
/* For the functions below: of so many blocks that a GPU holds at a time, those that this PE may use. */
int nvshmemi_mapshmem_share_of_blocks(int blocks);
/* For the functions below: a line on stderr. Returns status. */
int nvshmemi_mapshmem_launch_failed(int status, const char *routine, const char *cause);

#ifdef __cplusplus
}
#endif

#if defined(NVSHMEMI_HAS_CUDA) && defined(__cplusplus) && !defined(__CUDACC_RTC__)

/* *gridsize: the most blocks of the kernel that the present device holds at a time, beside as many of each other PE that
 * uses the device. Local. Returns NVSHMEMX_SUCCESS, or NVSHMEMX_ERROR_INTERNAL after a line. args is not used. */
static inline int nvshmemx_collective_launch_query_gridsize(const void *func, dim3 blockDims, void **args,
                                                            size_t sharedMem, int *gridsize)
{
    (void)args;
    int device, multiprocessors, per_multiprocessor;
    cudaError_t rc = cudaGetDevice(&device);
    if (rc == cudaSuccess)
        rc = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (rc == cudaSuccess)
        rc = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &per_multiprocessor, func, static_cast<int>(blockDims.x * blockDims.y * blockDims.z), sharedMem);
    if (rc != cudaSuccess)
        return nvshmemi_mapshmem_launch_failed(NVSHMEMX_ERROR_INTERNAL, "nvshmemx_collective_launch_query_gridsize",
                                               cudaGetErrorString(rc));
    *gridsize = nvshmemi_mapshmem_share_of_blocks(multiprocessors * per_multiprocessor);
    return NVSHMEMX_SUCCESS;
}

/* Launch a kernel whose blocks wait for each other and for those of other PEs: all PEs launch it, and all blocks run at the
 * same time. A grid of 0, 0, 0 is the largest one. Returns NVSHMEMX_SUCCESS; NVSHMEMX_ERROR_INVALID_VALUE for a grid that is
 * larger, and NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED if CUDA refuses it, after a line. Where PEs use a GPU in turns
 * (nvshmemx_init_status says LIMITED_MPG) such kernels run, but wait for their turns. */
static inline int nvshmemx_collective_launch(const void *func, dim3 gridDims, dim3 blockDims, void **args,
                                             size_t sharedMem, cudaStream_t stream)
{
    int most;
    nvshmemi_mapshmem_prepare_launch();
    const int rc = nvshmemx_collective_launch_query_gridsize(func, blockDims, args, sharedMem, &most);
    if (rc != NVSHMEMX_SUCCESS)
        return rc;
    if (gridDims.x == 0 && gridDims.y == 0 && gridDims.z == 0)
        gridDims = dim3(static_cast<unsigned>(most));
    const unsigned long long blocks = 1ull * gridDims.x * gridDims.y * gridDims.z;
    if (blocks == 0 || blocks > static_cast<unsigned long long>(most))
        return nvshmemi_mapshmem_launch_failed(NVSHMEMX_ERROR_INVALID_VALUE, "nvshmemx_collective_launch",
                                               "the grid has no blocks, or more than the GPU holds at a time");
    const cudaError_t error = cudaLaunchCooperativeKernel(func, gridDims, blockDims, args, sharedMem, stream);
    if (error != cudaSuccess)
        return nvshmemi_mapshmem_launch_failed(NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED, "nvshmemx_collective_launch",
                                               cudaGetErrorString(error));
    return NVSHMEMX_SUCCESS;
}

#endif
#endif
