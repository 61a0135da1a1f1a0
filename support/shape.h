/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For the device tables: how a launch is cut into groups.
 */
#ifndef SUPPORT_SHAPE_H
#define SUPPORT_SHAPE_H

#include "device.h"

#define MAX_ARGUMENTS 32
#define MAX_GROUPS_1 65535 /* in the second dimension */

/* Both dimensions in whole groups. */
struct shape {
    size_t global[2], group[2];
};

/* For a kernel whose groups have at most max_group work-items. false: there is nothing to do. Ends the job if the
 * launch breaks the rules of device.h. */
bool shape_launch(const struct launch *launch, const char *kernel, size_t max_group, int n_arguments,
                  struct shape *shape);

#endif
