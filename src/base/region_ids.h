/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers of the regions that every job has; mapped objects follow. The same on every PE.
 */
#ifndef SHMEMI_REGION_IDS_H
#define SHMEMI_REGION_IDS_H

enum {
    SHMEMI_REGION_HEAP = 0,
    SHMEMI_REGION_STATIC = 1,
    SHMEMI_REGION_FIRST_MAPPED = 2,
};

#endif
