/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For profiling tools [10]: the routines and their pshmem_ twins, without the C11 generic forms, so that a tool can
 * define any of them. shmem.h, included afterwards, adds the generic forms. */
#ifdef SHMEMI_WITHOUT_GENERIC
#include <shmem.h>
#else
#define SHMEMI_WITHOUT_GENERIC
#include <shmem.h>
#undef SHMEMI_WITHOUT_GENERIC
#endif
