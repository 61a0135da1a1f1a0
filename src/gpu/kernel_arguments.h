/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the library and its device kernels (kernels.cu) agree upon. Plain C that both compilers read; addresses are those
 * of the device.
 */
#ifndef SHMEMI_KERNEL_ARGUMENTS_H
#define SHMEMI_KERNEL_ARGUMENTS_H

#include <stdint.h>

/* KERNEL(name): the function shmemi_kernel_<name>, in the order of enum shmemi_kernel. */
#define SHMEMI_FOR_KERNELS(KERNEL) KERNEL(copy_list)

/* copy_list: n copies at once. Neither end of any may overlap with another's destination. */
struct shmemi_list_copy {
    uint64_t dest, source;
    uint64_t nbytes;
};

#endif
