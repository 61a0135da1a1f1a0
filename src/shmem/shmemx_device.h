/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communication from inside kernels, on memory that the program has allocated and mapped, or on the symmetric heap.
 *
 * The host fills in a plain structure, which the program passes to its kernel by value. The device side is this header
 * alone: nothing is linked with the kernel, and no relocatable device code is needed. It compiles with nvcc, NVRTC and
 * clang for compute capability 7.0 and above, and as C++11 for threads of a CPU (mapshmem/device_host.h), with which the
 * code of a kernel can be tested without a GPU. doc/kernels.md has examples.
 *
 *     __global__ void step(double *u, shmemx_device_view_t view, int right)
 *     {
 *         ...                                                                   // u is this PE's own buffer
 *         shmemx_device_put(shmemx_device_block_t(), view, u + to, u + from, n, right);
 *     }
 *     double *mapped = (double *)shmmap(u, bytes, OSHM_MEMTYPE_CUDA);
 *     shmemx_device_view_t view;
 *     shmemx_device_view(mapped, &view);
 *     step<<<1, 256>>>(u, view, right);
 *
 * ADDRESSES. Kernels name a place in symmetric memory by its address in this PE's own copy: for a mapped buffer by the
 * program's own pointer, for the heap by the symmetric address. The view says to which object it belongs.
 *
 * GROUPS. A call with a group is made by all threads of the group together, with the same arguments:
 * shmemx_device_thread_t, shmemx_device_warp_t or shmemx_device_block_t. The threads share the copying. The group must
 * have met (__syncthreads) between writing the source and the call. Calls without a group are made by one thread.
 *
 * ORDER AND COMPLETION.
 *   put, get            on return the source may be written again, and dest of a get holds the data, for all of the group
 *   put_nbi, get_nbi    the same after the next quiet of the group
 *   flush               what sources of put_nbi before it hold may be written again; dest may not have it yet
 *   put_signal          whoever has seen the signal (wait_until, test, signal_fetch) sees the data
 *   signal_op           the same for all that its thread had put, or had seen, before, to whatever object of that PE
 *   p, atomic_*         one word, which arrives whole; without order
 *   fence, quiet        what the group has put before, to all objects, is in place before anything that it does after;
 *                       and so is what other threads have put, if they had met with the group by then
 *   wait_until, test    read the word with acquire: what was ordered before the update that they see is visible
 *   barrier             quiet, then sync; sync: every member has come
 *
 * OTHER PES. What a kernel cannot reach (another node, the routes "staged" and "cuda-shadow", atomic operations of a GPU on
 * the heap) it hands to a thread of the library, the agent, which uses the ordinary routes. Up to 16 KiB are copied aside, so
 * that a put returns at once; more is copied by the agent, which takes until the put is complete. An operation with a
 * result, and a get, wait for the agent. What is larger and in shared or local memory, which the agent does not see, is
 * copied aside in parts. What a kernel has put to such a PE may still be under way when the kernel is over, unless it has
 * called quiet before. Then shmem_quiet and shmem_barrier_all complete it, and behind the kernel in its CUDA stream the
 * quiet and the barriers of the stream, outside of graphs. A kernel uses views of objects of its own GPU, and the heap.
 *
 * Scope and order are release and acquire for the whole system; nothing is ordered more strongly.
 *
 * Two kernels of different PEs that wait for each other must run at the same time, all their blocks included; see
 * shmemx_kernels_may_wait.
 */
#ifndef SHMEMX_DEVICE_H
#define SHMEMX_DEVICE_H

#include <mapshmem/device_types.h>

/* The constants of shmem.h that kernels use: NVRTC sees no other header. */
#define SHMEM_CMP_EQ 1
#define SHMEM_CMP_NE 2
#define SHMEM_CMP_GT 3
#define SHMEM_CMP_GE 4
#define SHMEM_CMP_LT 5
#define SHMEM_CMP_LE 6
#define SHMEM_SIGNAL_SET 1
#define SHMEM_SIGNAL_ADD 2

/* ---- Host -------------------------------------------------------------------------------------------------------- */

#ifndef __CUDACC_RTC__
#include "shmemx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fill in a view of the symmetric object that an address belongs to: a mapped CUDA buffer, or the symmetric heap. Local:
 * no other PE takes part. The view is valid until the object is unmapped, or shmem_finalize; views of one object share
 * what they point to. For the heap the library page-locks the heaps of the node's PEs if the program has used CUDA by
 * then, in which case kernels of the GPU and context that the calling thread has chosen can use the view (cudaSetDevice):
 * those of another GPU need one of their own. Otherwise only threads of the CPU can.
 *
 * If kernels of this PE cannot reach every copy by loads, stores and atomic operations, a thread of the library does it for
 * them (see OTHER PES); the first such view starts it.
 *
 * Returns 0, or logs the cause and returns a negative errno value: -EINVAL if the address is not symmetric; -ENOTSUP for
 * OpenCL buffers, and for static data where kernels of a GPU use the heap; -ENOMEM. Any thread may call. */
int shmemx_device_view(const void *symmetric, shmemx_device_view_t *view);

/* Fill in a team for kernels. The work area is symmetric memory of the program for which shmemx_device_view works, at the
 * same symmetric address on all members: nbytes bytes, at least SHMEMX_DEVICE_WORK_BYTES(members, 0), aligned to 16. It is
 * 0 before its first use, serves one team, and belongs to its collective operations from then on, of which one at a time is
 * under way. Waiting is fastest in memory of the GPU that waits. Local; valid as long as the view of the area is, and
 * until the team is destroyed.
 *
 * Returns 0, or logs the cause and returns a negative errno value: those of shmemx_device_view, and -EINVAL for an area
 * that is too small or not aligned. Any thread may call. */
int shmemx_device_team_view(shmem_team_t team, void *work, size_t nbytes, shmemx_device_team_t *view);

/* How many PEs use this PE's CUDA device, this one included; 1 if none is known. Found by shmmap. */
int shmemx_device_sharers(void);

/* How many blocks of a kernel that waits for other PEs should be left free for the library: 1 if the agent serves some PE
 * (see OTHER PES), whose atomic operations on memory of this GPU a small kernel carries out; otherwise 0. Known once the
 * views are made. */
int shmemx_device_spare_blocks(void);

/* shmemx_device_max_blocks(kernel, threads_per_block, shared_bytes), in files that nvcc compiles: the most blocks of a
 * kernel that the present device holds at a time beside as many of each other PE that uses it, and beside those that
 * shmemx_device_spare_blocks tells. A kernel whose blocks wait for other blocks, or other PEs, has no more: those that have not started would be waited for for ever. shared_bytes is
 * the dynamic shared memory of a block. The result is 0 if not even one block of each PE fits, and -EINVAL, which is
 * logged, when CUDA refuses the question. As host C++: how many blocks threads of the CPU can reasonably play. Programs that have a
 * CUfunction ask cuOccupancyMaxActiveBlocksPerMultiprocessor, times the number of multiprocessors, less
 * shmemx_device_spare_blocks(), divided by shmemx_device_sharers(). */

#ifdef __cplusplus
}
#endif
#endif

/* ---- Kernels -------------------------------------------------------------------------------------------------------
 * GROUP: one of the three groups. T: any type; of p and g, of 1, 2, 4 or 8 bytes; of iput and iget also 16; of waits and
 * tests, of 2, 4 or 8; of atomic operations, of 4 or 8; of atomic add an integer, float or double; of atomic inc, and, or,
 * xor an integer. WORD: a type of 8 bytes. pe counts in SHMEM_TEAM_WORLD. Names are those of OpenSHMEM, which says more.
 *
 *   shmemx_device_put(GROUP, view, T *dest, const T *source, size_t nelems, int pe)            put_nbi, get, get_nbi
 *   shmemx_device_putmem(GROUP, view, void *dest, const void *source, size_t nbytes, int pe)   putmem_nbi, getmem, ...
 *   shmemx_device_iput(GROUP, view, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)   iget
 *   shmemx_device_p(view, T *dest, T value, int pe)         T shmemx_device_g(view, const T *source, int pe)
 *   shmemx_device_put_signal(GROUP, view, T *dest, const T *source, size_t nelems,
 *                            [signal_view,] WORD *sig_addr, uint64_t signal, int sig_op, int pe)      put_signal_nbi
 *   shmemx_device_signal_op(view, WORD *sig_addr, uint64_t signal, int sig_op, int pe)
 *   shmemx_device_signal_set, _add(view, WORD *sig_addr, uint64_t signal, int pe)
 *   WORD shmemx_device_signal_fetch(view, const WORD *sig_addr)
 *   WORD shmemx_device_signal_wait_until(GROUP, view, const WORD *sig_addr, int cmp, WORD cmp_value)
 *   T shmemx_device_atomic_fetch(view, const T *dest, int pe)
 *   void shmemx_device_atomic_set(view, T *dest, T value, int pe)                  T ..._swap(the same)
 *   T shmemx_device_atomic_compare_swap(view, T *dest, T cond, T value, int pe)
 *   T shmemx_device_atomic_fetch_inc(view, T *dest, int pe)                        void ..._inc(the same)
 *   T shmemx_device_atomic_fetch_add(view, T *dest, T value, int pe)               fetch_and, fetch_or, fetch_xor
 *   void shmemx_device_atomic_add(view, T *dest, T value, int pe)                  and, or, xor
 *   shmemx_device_wait_until(GROUP, view, const T *ivar, int cmp, T cmp_value)
 *   shmemx_device_wait_until_all(GROUP, view, const T *ivars, size_t nelems, const int *status, int cmp, T cmp_value)
 *   size_t shmemx_device_wait_until_any(view, the same)                            test_any, test_all, test
 *   size_t shmemx_device_wait_until_some(view, const T *ivars, size_t nelems, size_t *indices, status, cmp, cmp_value)
 *                                         test_some; all of these with _vector and const T *cmp_values instead of a value
 *   shmemx_device_fence, _quiet, _flush(GROUP, view)
 *   shmemx_device_barrier, _sync(GROUP, team)        one group of each member
 *   shmemx_device_broadcast(GROUP, team, [view,] T *dest, const T *source, size_t nelems, int root)
 *   shmemx_device_fcollect, _alltoall(GROUP, team, [view,] T *dest, const T *source, size_t nelems)
 *   shmemx_device_sum_reduce(GROUP, team, [view,] T *dest, const T *source, size_t nelems)   prod, min, max, and, or, xor
 *   shmemx_device_sum_reducescatter(GROUP, team, T *dest, const T *source, size_t nelems)    prod, min, max, and, or, xor
 *
 * dest and source of collective operations are any memory of this PE; of broadcasts and reductions the same one if the
 * program likes. nelems elements go from each member to each other one, and with reducescatter are each member's result.
 * Without a view, data pass through the work area, in pieces: meant for little. With a view, dest is at the same place of
 * its object on all members, and is ready for the result when the first member calls: then data go straight there.
 */
#ifdef __cplusplus
extern "C++" {
#if defined(__CUDACC__) || defined(__CUDA__) || defined(__CUDACC_RTC__)
#include <mapshmem/device_cuda.h>
#else
#include <mapshmem/device_host.h>
#endif
#include <mapshmem/device_copy.h>
#include <mapshmem/device_ring.h>
#include <mapshmem/device_rma.h>
#include <mapshmem/device_strided.h>
#include <mapshmem/device_amo.h>
#include <mapshmem/device_wait.h>
#include <mapshmem/device_team.h>
#include <mapshmem/device_collect.h>
#include <mapshmem/device_reduce.h>
}
#endif

#endif
