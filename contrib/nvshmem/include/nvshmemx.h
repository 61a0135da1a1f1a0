/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NVSHMEM's extensions have no header of their own here: nvshmem.h has them.
 */
#ifndef NVSHMEMX_H
#define NVSHMEMX_H

#include <nvshmem.h>

#endif
