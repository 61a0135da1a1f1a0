/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The largest number of all PEs. In a file of its own: libraries before OpenSHMEM 1.5 do not have this reduction.
 */
#include <shmem.h>

#include "util.h"

double job_max(double number)
{
    double *numbers = symmetric_alloc(2 * sizeof(*numbers));
    double largest;

    numbers[0] = number;
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &numbers[1], &numbers[0], 1);
    largest = numbers[1];
    shmem_free(numbers);
    return largest;
}
