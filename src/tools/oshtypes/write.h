/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oshtypes: the C file that is written.
 */
#ifndef OSHTYPES_WRITE_H
#define OSHTYPES_WRITE_H

#include "tools/oshtypes/plan.h"

#include <stdio.h>

struct osht_output {
    const char *path;   /* for messages                     */
    const char *name;   /* of the function: NAME_register    */
    const char *source; /* the file that was read           */
    const char **headers;
    size_t n_headers;
};

void osht_write(FILE *file, const struct osht_output *output, size_t n,
                const struct osht_descriptor *const *descriptors);

#endif
