/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which device a rank takes: shmemx_my_device has no counterpart in MPI.
 */
#ifndef PORTING_LOCAL_RANK_H
#define PORTING_LOCAL_RANK_H

#include <mpi.h>

static inline int local_rank(void)
{
    MPI_Comm node;
    int rank;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_free(&node);
    return rank;
}

#endif
