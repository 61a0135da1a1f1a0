/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Types for oshtypes.test that oshtypes cannot describe without further annotations.
 */
#include <shmemx_annotate.h>

struct unknown;
struct plain {
    int n;
};

struct many {
    char *text;
    double *numbers;
    void *anything;
    char **lists;
    struct unknown *unknown;
    int n : 4;
    double *by_bits;
    union {
        int in_union;
        char *in_there;
    };
    double *by_union;
    double *by_nothing;
    float wrong;
    double *by_float;
    struct plain *one;
    struct plain inside;
    int (*function)(void);
    int tail[];
};

struct with_tail {
    int n;
    float tail[];
};

SHMEMX_COUNT(struct many, by_bits, "n");
SHMEMX_COUNT(struct many, by_union, "in_union");
SHMEMX_COUNT(struct many, by_nothing, "nn");
SHMEMX_COUNT(struct many, by_float, "wrong");
SHMEMX_COUNT(struct many, wrong, "2");

struct many *many;
struct with_tail *with_tail;
