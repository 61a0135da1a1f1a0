/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The names with the prefix pshmem_ are declared beside the others. */
#include <shmem.h>
