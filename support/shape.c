/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cuts a launch into groups.
 */
#include "shape.h"

#include "util.h"

static size_t whole_groups(size_t global, size_t group)
{
    return (global + group - 1) / group * group;
}

bool shape_launch(const struct launch *launch, const char *kernel, size_t max_group, int n_arguments,
                  struct shape *shape)
{
    bool two_dimensions = launch->group[1] > 0;
    size_t cols = launch->group[0];
    size_t rows = two_dimensions ? launch->group[1] : 1;

    while (cols * rows > max_group && rows > 1)
        rows /= 2;
    while (cols * rows > max_group)
        cols /= 2;
    shape->group[0] = cols;
    shape->group[1] = rows;
    shape->global[0] = whole_groups(launch->global[0], cols);
    shape->global[1] = two_dimensions ? whole_groups(launch->global[1], rows) : 1;
    if (n_arguments > MAX_ARGUMENTS)
        die("kernel %s: %d arguments; there may be %d", kernel, n_arguments, MAX_ARGUMENTS);
    if (shape->global[1] / rows > MAX_GROUPS_1)
        die("kernel %s: %zu groups in the second dimension; there may be %d", kernel, shape->global[1] / rows,
            MAX_GROUPS_1);
    return shape->global[0] > 0 && shape->global[1] > 0;
}
