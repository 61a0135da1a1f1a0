/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How far apart things lie that different processors write: one number for all of them.
 */
#ifndef SHMEMI_CACHE_LINE_H
#define SHMEMI_CACHE_LINE_H

/* Bytes of a cache line of x86-64, of Neoverse (Grace and other servers), and of what GPUs write to the host. Nothing is wrong
 * on a processor with longer ones (Apple 128, A64FX 256), where two owners then share a line and take it from each other. The
 * lines of collectives hold one message each, so that more bytes here would be more to copy everywhere. The offsets of objects
 * and of workspaces in the heap follow from it, which PEs of all processors exchange: it must not depend on the processor.
 * What kernels of GPUs have in common with the host is 64 bytes long by itself (shmem/mapshmem/device_types.h). */
enum { SHMEMI_CACHE_LINE = 64 };

#endif
