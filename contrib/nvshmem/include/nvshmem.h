/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The NVSHMEM interface on MapSHMEM, for programs that are written for NVSHMEM (doc/nvshmem.md). Files that are compiled for a
 * GPU get the device calls as well, inline: they need neither -rdc nor a device library. NVRTC gets those alone.
 */
#ifndef NVSHMEM_H
#define NVSHMEM_H

#if !defined(__CUDACC_RTC__)
#include <nvshmem_host.h>
#endif

#if !defined(NVSHMEM_HOSTLIB_ONLY) && (defined(__CUDACC__) || defined(__CUDA__) || defined(__CUDACC_RTC__))
#include <mapshmem_nvshmem/kernel_calls.h>
#endif

#endif
