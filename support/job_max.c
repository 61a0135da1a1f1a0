/* SPDX-License-Identifier: BSD-3-Clause
 *
 * job_max, in a file of its own since libraries before OpenSHMEM 1.5 lack this reduction.
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
