/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the tests of single units share: a check that ends the program with one line.
 */
#ifndef UNIT_H
#define UNIT_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(_condition)                                                                                              \
    do {                                                                                                               \
        if (!(_condition)) {                                                                                           \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #_condition);                                           \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
